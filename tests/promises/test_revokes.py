"""Revocation of running work: the gateway's next report, one every 2 s, refuses work that depends on a revoked privilege."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headgate.app.deployment import open_deployment_over
from headgate.app.spark.credentials import CredentialResolver
from headgate.app.spark.drivers import Drivers
from headgate.control.catalog.tables import DropDatabase, RenameTable
from headgate.control.kernel.errors import SuspendedError
from headgate.control.organizations.organization import Organization
from headgate.control.organizations.suspension import ResumeOrganization, SuspendOrganization
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.control.resources.commands import CreateResource
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, RunId
from headgate.spark.abandoned_sessions import AbandonedSessions
from headgate.spark.authority import OperationReport, PresentedCredential, Running
from headgate.spark.deciding_authority import DecidingAuthority, ResolvedCredential
from headgate.spark.driver.clusters import Cluster, Clusters
from headgate.spark.driver.driver import DriverState
from headgate.spark.sessions.privileges import RequiredName, RequiredOperation, RequiredPrivilege
from headgate.spark.sessions.running_operations import UNREADABLE
from headgate.spark.sql.statements import NO_DRIVER
from headgate.store import FILE, open_stores
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, serving, settings_in
from tests.fakes.runs import begin, end

READ = RequiredName(action="database.describe", object=("lake", "raw"))


class Scene:
    """The user vic with a role that allows to describe `lake.raw` on Spark; the test moves the clock."""

    def __init__(self, folder: Path) -> None:
        self.now = time.time()
        stores = open_stores(folder / "data")
        self.deployment = open_deployment_over(settings_in(folder), stores, clock=lambda: self.now)
        self.world = DeploymentHarness(self.deployment)
        embedded = Clusters(Cluster(EMBEDDED))
        self.drivers = Drivers(self.deployment.organizations, self.deployment.home, ("o-acme", "nosuch"), embedded)
        self.knowing = CredentialResolver(self.deployment, self.world.sparks, self.drivers)
        self.authority = DecidingAuthority(self.knowing.resolve, lambda: self.world.sparks.all, AbandonedSessions())
        self.running: Running | None = None

    def begin(self, secret: str, *required: RequiredPrivilege | RequiredOperation) -> None:
        """Begin an operation of the credential's holder that needs these privileges, which are allowed."""
        known = self.knowing.resolve(PresentedCredential(secret))
        assert known is not None
        spark = self.world.sparks.of(self.deployment.home)
        handle, needs = spark.sessions.open(known.caller, "s"), spark.judge.expand(required)
        assert spark.judge.refusal(known.caller, needs) is None
        spark.works.record(handle, "op", needs)
        self.running = Running(handle, "op", PresentedCredential(secret))
        assert self.refused() == ""

    def login(self, name: str) -> PrincipalId:
        """Register a login of a user."""
        principal = self.world.caller(name).principal
        self.deployment.auth_services.authentication.register(name, principal=principal)
        return principal

    def pipeline(self, files: Path) -> ResourceId:
        """Save a pipeline as the owner; return its id."""
        world = self.world
        world.call("owner", "POST", "/connections", {"name": "files", "folder": str(files)})
        stream = {"name": "a", "file": "a.csv", "into": "lake.raw.a"}
        pipeline = {"kind": "source", "name": "load", "connection": "files", "streams": [stream]}
        answer = world.call("owner", "PUT", "/pipelines/load", pipeline)
        assert answer.status_code == 200, answer.text
        return ResourceId(answer.json()["id"])

    def refused(self) -> str:
        """Return why the operation must end, or an empty text."""
        assert self.running is not None
        verdicts = self.authority.report(OperationReport((self.running,), (self.running.handle,)))
        return " ".join(each.message for each in verdicts.refused)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    try:
        with serving(scene.world):
            scene.world.add("vic")
            scene.world.give("vic", "viewer", "lake.raw")
            yield scene
    finally:
        scene.deployment.close()


def take_the_role(world: DeploymentHarness) -> None:
    world.call("owner", "DELETE", "/assignments", subject="vic", role="viewer", resource="lake.raw")


def end_the_token(world: DeploymentHarness) -> None:
    token = world.caller("vic").token
    assert world.call("vic", "DELETE", f"/tokens/{token}").status_code == 200


def remove_the_user(world: DeploymentHarness) -> None:
    assert world.call("owner", "DELETE", "/users/vic").status_code == 200


def suspend_the_organization(world: DeploymentHarness) -> None:
    home = world.deployment.home
    home.control.execute(SuspendOrganization(home.id), None)


def drop_the_database(world: DeploymentHarness) -> None:
    home = world.deployment.home
    home.control.execute(DropDatabase(find(home, "lake", "raw")), world.caller("owner"))


@pytest.mark.parametrize(
    "revoke", [take_the_role, end_the_token, remove_the_user, drop_the_database, suspend_the_organization]
)
def test_a_running_statement_is_refused_after_any_loss_of_its_right(
    scene: Scene, revoke: Callable[[DeploymentHarness], None]
) -> None:
    scene.begin(scene.world.tokens["vic"], READ)

    revoke(scene.world)

    assert scene.refused()


def test_a_statement_that_has_dropped_its_database_goes_on(scene: Scene) -> None:
    scene.world.give("vic", "manager", "lake.raw")
    drop = RequiredOperation(operation="resource.delete", on={"resource": ("lake", "raw")}, type="database")
    scene.begin(scene.world.tokens["vic"], READ, drop)

    drop_the_database(scene.world)

    assert scene.refused() == ""


@pytest.mark.parametrize("may_read", [True, False])
def test_a_statement_that_renamed_a_table_reads_on_by_the_rights_under_the_new_name(
    scene: Scene, *, may_read: bool
) -> None:
    home, owner, table = scene.deployment.home, scene.world.caller("owner"), ResourceId("r-t")
    home.control.execute(CreateResource(table, "table", find(home, "lake", "raw"), "t"), owner)
    scene.world.create("/databases", {"name": "hidden"})
    scene.world.give("vic", "manager", "lake.raw")
    if may_read:
        scene.world.give("vic", "viewer", "lake.hidden")
    names = ("lake", "raw", "t")
    needs = [
        RequiredName(action=action, object=names, is_removed=action != "table.select")
        for action in ("table.select", "table.alter", "table.drop")
    ]
    scene.begin(scene.world.tokens["vic"], *needs)

    home.control.execute(RenameTable(table, find(home, "lake", "hidden"), "moved"), owner)

    denied = (
        "`lake.raw.t` was renamed, and you may not read it under its new name; ask the owner of the table for access"
    )
    assert scene.refused() == ("" if may_read else denied)


def find(organization: Organization, *names: str) -> ResourceId:
    found = organization.control.snapshot.find(names)
    assert found is not None
    return found.id


def test_the_gateway_reports_a_suspension_to_members_until_the_organization_is_resumed(
    scene: Scene,
) -> None:
    home, secret = scene.deployment.home, scene.world.tokens["vic"]
    home.control.execute(SuspendOrganization(home.id), None)

    with pytest.raises(SuspendedError):
        scene.knowing.resolve(PresentedCredential(secret))
    assert (
        scene.knowing.resolve(PresentedCredential(scene.world.organization("acme", "nekt").tokens["owner"], home.id))
        is None
    )
    assert scene.knowing.resolve_cached(PresentedCredential(secret)) is None
    home.control.execute(ResumeOrganization(home.id), None)
    scene.begin(secret, READ)


def test_a_suspended_organization_has_no_driver_until_it_is_resumed(scene: Scene) -> None:
    acme = scene.world.organization("acme", "nekt", id="o-acme").opened
    acme.control.execute(SuspendOrganization(acme.id), None)

    driver, why_not = scene.drivers.get(acme)

    assert (driver, "is suspended" in why_not) == (None, True)
    acme.control.execute(ResumeOrganization(acme.id), None)
    assert scene.drivers.get(acme)[1] == ""


def test_a_log_that_cannot_be_read_ends_what_runs_in_its_organization(scene: Scene) -> None:
    scene.begin(scene.world.tokens["vic"], READ)
    root = scene.deployment.home.id
    with closing(sqlite3.connect(scene.deployment.settings.folder / FILE, timeout=10)) as file, file:
        file.execute("UPDATE log SET hash = 'x', previous_hash = 'y' WHERE log_id = ? AND revision > 1", (root,))

    scene.deployment.organizations.refresh()

    assert scene.refused() == UNREADABLE


def test_the_expiry_of_an_assignment_ends_a_running_statement(scene: Scene) -> None:
    take_the_role(scene.world)
    body = {"subject": "vic", "role": "viewer", "resource": "lake.raw", "ends": scene.now + 3600}
    assert scene.world.call("owner", "POST", "/assignments", body).status_code == 201
    scene.begin(scene.world.tokens["vic"], READ)

    scene.now += 3601

    assert "lake.raw" in scene.refused()


def test_the_end_of_a_login_ends_its_work_even_if_no_privilege_was_needed(scene: Scene) -> None:
    sessions = scene.deployment.auth_services.authentication.sessions
    vic = scene.login("vic")
    started = sessions.start(vic, "password")
    scene.begin(started.secret)

    sessions.end(vic, started.session.id)

    assert (
        scene.refused()
        == "the token or login that started the operation is no longer valid; connect with a valid token, or log in again"
    )


def test_cancelling_a_run_ends_its_work(scene: Scene, tmp_path: Path) -> None:
    home = scene.deployment.home
    scene.begin(begin(home.control, home.store, RunId("r-1"), scene.pipeline(tmp_path)))

    end(home.control, home.store, RunId("r-1"), "cancelled")

    assert "the run has ended" in scene.refused()


class TestDrivers:
    """Each organization that uses Spark has a driver of its own."""

    @pytest.fixture
    def acme(self, scene: Scene) -> OrganizationClient:
        return scene.world.organization("acme", "nekt", id="o-acme")

    def test_a_driver_is_started_when_it_is_first_asked_for(self, scene: Scene, acme: OrganizationClient) -> None:
        made = list[FakeDriver]()

        def make(organization: Organization, _cluster: Cluster) -> FakeDriver:
            made.append(FakeDriver(organization.id))
            return made[-1]

        async def story() -> None:
            await scene.drivers.start_home(make)  # pyright: ignore[reportArgumentType] (a fake with the methods that are called)
            home, other = scene.knowing.resolve(PresentedCredential(scene.world.tokens["vic"])), self.known(scene, acme)
            assert other is not None
            assert home is not None
            assert self.known(scene, acme) == other
            await made[-1].begun.wait()
            assert [driver.name for driver in made] == [scene.deployment.home.id, acme.opened.id]
            assert (home.driver, other.driver) == tuple(made)
            assert home.spark is not other.spark
            await scene.drivers.end()

        asyncio.run(story())

        assert [driver.log for driver in made] == [["start", "stop"], ["start", "stop"]]

    def test_an_organization_that_the_settings_do_not_name_has_no_driver(self, scene: Scene) -> None:
        known = self.known(scene, scene.world.organization("other", "nekt"))

        assert known is not None
        assert (known.driver, known.why_not) == (None, NO_DRIVER)

    def test_a_run_uses_the_driver_of_the_cluster_on_which_it_began(self, scene: Scene, tmp_path: Path) -> None:
        home, pipeline = scene.deployment.home, scene.pipeline(tmp_path)
        here, there = (
            scene.knowing.resolve(
                PresentedCredential(begin(home.control, home.store, RunId(f"r-{name}"), pipeline, name))
            )
            for name in ("embedded", "big")
        )

        assert here is not None
        assert there is not None
        assert (here.spark, here.why_not) == (scene.world.sparks.of(home), "")
        assert there.spark is scene.world.sparks.of(home, "big")
        assert "no cluster `big`" in there.why_not

    def test_the_organizations_that_the_settings_name_have_drivers(
        self, scene: Scene, acme: OrganizationClient
    ) -> None:
        scene.world.organization("other", "nekt")

        assert {each.id for each in scene.drivers.list_served()} == {scene.deployment.home.id, acme.opened.id}

    def test_a_session_handle_of_one_organization_means_nothing_to_another(
        self, scene: Scene, acme: OrganizationClient
    ) -> None:
        sparks = scene.world.sparks
        handle = sparks.of(scene.deployment.home).sessions.open(Caller(scene.world.caller("vic").principal), "s")

        assert sparks.of(acme.opened).sessions.caller(handle) is None

    def test_a_login_that_names_an_unknown_organization_is_unknown(self, scene: Scene) -> None:
        vic = scene.login("vic")
        secret = scene.deployment.auth_services.authentication.sessions.start(vic, "password").secret

        assert scene.knowing.resolve(PresentedCredential(secret)) is not None
        assert scene.knowing.resolve(PresentedCredential(secret, "nosuch")) is None

    def known(self, scene: Scene, place: OrganizationClient) -> ResolvedCredential | None:
        return scene.knowing.resolve(PresentedCredential(place.tokens["owner"]))


class FakeDriver:
    """A driver that records the calls to it."""

    def __init__(self, name: ResourceId) -> None:
        self.name = name
        self.state = DriverState.STARTING
        self.log: list[str] = []
        self.begun = asyncio.Event()

    async def start(self) -> None:
        self.log.append("start")
        self.begun.set()

    async def stop(self) -> None:
        self.log.append("stop")
