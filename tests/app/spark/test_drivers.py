"""Drivers start at their first use, stop when they are idle, and report why they cannot serve."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.spark.drivers import Drivers
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.spark.driver.clusters import Cluster, Clusters
from headgate.spark.driver.driver import DriverError, DriverState
from tests.app.deployment_harness import DeploymentHarness, settings_in

BIG = Cluster("big", "spark://one:7077", idle_seconds=60)


class FakeDriver:
    """A driver that starts at once, or fails with a given reason."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = DriverState.STOPPED
        self.key = b"key of " + name.encode()
        self.generation = 0
        self.trouble = ""
        self.fails = ""
        self.is_answering = True
        self.hangs = 0

    @property
    def ready(self) -> bool:
        return self.state is DriverState.SERVING

    async def start(self) -> None:
        self.generation += 1
        self.trouble = self.fails
        if self.fails:
            self.state = DriverState.DOWN
            raise DriverError(self.fails)
        self.state = DriverState.SERVING

    async def stop(self) -> None:
        self.state = DriverState.STOPPED


class Scene:
    """The drivers of a deployment, with a clock that the test sets."""

    def __init__(self, deployment: Deployment, others: tuple[str, ...] = ()) -> None:
        self.deployment = deployment
        self.now = 1000.0
        self.home = deployment.home
        self.made = list[FakeDriver]()
        clusters = Clusters(Cluster(EMBEDDED), BIG)
        self.drivers = Drivers(deployment.organizations, deployment.home, others, clusters, lambda: self.now)

    def make(self, organization: Organization, cluster: Cluster) -> FakeDriver:
        self.made.append(FakeDriver(f"{organization.id}@{cluster.name}"))
        return self.made[-1]

    async def comes(self, cluster: str = "big") -> FakeDriver:
        """Request the home organization's driver on a cluster, and let it start."""
        driver, why_not = self.drivers.get(self.home, cluster)
        assert isinstance(driver, FakeDriver), why_not
        for _ in range(5):
            await asyncio.sleep(0)
        return driver

    def play(self, story: Callable[[], Coroutine[None, None, None]]) -> None:
        """Run the coroutine between the start and the end of the drivers; check that all have stopped."""

        async def whole() -> None:
            await self.drivers.start_home(self.make)  # pyright: ignore[reportArgumentType] (a fake with the methods that are called)
            await story()
            await self.drivers.end()

        asyncio.run(whole())
        assert {each.state for each in self.made} == {DriverState.STOPPED}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    deployment = open_deployment(settings_in(tmp_path))
    yield Scene(deployment)
    deployment.close()


def test_an_organization_gets_a_driver_by_its_id_and_never_by_its_name(scene: Scene) -> None:
    place = DeploymentHarness(scene.deployment).organization("acme", "nekt")

    assert Scene(scene.deployment, (place.opened.id,)).drivers.serves(place.opened)
    assert Scene(scene.deployment, ("*",)).drivers.serves(place.opened)
    assert not Scene(scene.deployment, ("acme",)).drivers.serves(place.opened)


def test_each_cluster_has_a_driver_with_a_key_of_its_own(scene: Scene) -> None:
    async def story() -> None:
        big, embedded = await scene.comes(), await scene.comes(EMBEDDED)
        assert (big.ready, embedded.ready, len(scene.made)) == (True, True, 2)
        assert await scene.comes() is big
        assert scene.drivers.key(scene.home.id, "big") == big.key != scene.drivers.key(scene.home.id, EMBEDDED)
        assert scene.drivers.figures["drivers"] == {embedded.name: 1.0, big.name: 1.0}

    scene.play(story)


def test_a_driver_that_does_not_answer_is_counted_as_not_serving(scene: Scene) -> None:
    async def story() -> None:
        big = await scene.comes()
        big.is_answering, big.hangs = False, 1
        assert (scene.drivers.figures["drivers"][big.name], scene.drivers.figures["driver_hangs"][big.name]) == (
            0.0,
            1.0,
        )

    scene.play(story)


def test_an_unknown_cluster_has_no_driver(scene: Scene) -> None:
    driver, why_not = scene.drivers.get(scene.home, "nosuch")

    assert driver is None
    assert why_not == (
        "this server has no cluster `nosuch`; add it to the file of HEADGATE_CLUSTERS, or move the pipeline to another cluster"
    )


def test_an_idle_driver_is_stopped_and_started_again_by_the_next_request(scene: Scene) -> None:
    async def story() -> None:
        big = await scene.comes()
        scene.now += 59
        await scene.comes()
        scene.now += 59
        await scene.drivers.stop_idle()
        assert big.ready

        scene.now += 2
        await scene.drivers.stop_idle()
        embedded = await scene.comes(EMBEDDED)
        assert (big.ready, embedded.ready) == (False, True)

        assert await scene.comes() is big
        assert (big.ready, big.generation) == (True, 2)

    scene.play(story)


def test_a_driver_that_fails_to_start_reports_the_reason_and_is_retried(scene: Scene) -> None:
    async def story() -> None:
        big = await scene.comes()
        big.fails = "no master answers"
        scene.now += 61
        await scene.drivers.stop_idle()
        assert (await scene.comes()).trouble == "no master answers"
        assert (await scene.comes()).generation == 2

        big.fails = ""
        scene.now += 6
        assert (await scene.comes()).ready

    scene.play(story)
