"""Egress rules of the settings: enforced when a connection is created or used by a pipeline, and shown with it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from psycopg.pq import Conninfo

from headgate.app.deployment import open_deployment
from headgate.app.settings.egress import egress_of, store_server
from headgate.control.egress import EgressPolicy, EgressRules, parse_host_rule
from headgate.pipelines.connections.egress import EgressError
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, serving, settings_in

NAMES = ("partner", "not-created-yet")
"""Names of organizations, which the operator wrote in place of ids."""
HTTP = {"http": {"base_url": "http://127.0.0.1:8556", "headers": {}}}
METADATA = {"http": {"base_url": "http://169.254.169.254/latest"}}
STORE = {"postgresql": {"host": "127.0.0.1", "port": 5544, "database": "hg", "user": "postgres"}}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    """Serve a deployment in which `acme` may connect one folder and one database, and `main` another folder.

    The policy also has rules under names instead of ids; they apply to no organization.
    """
    folder = tmp_path_factory.mktemp("egress")
    for name in ("acme", "main", "secrets", "named"):
        (folder / name).mkdir()
    (folder / "secrets" / "store").write_text("postgresql://headgate:S3cretPw@db/headgate\n")
    acme = EgressRules((PurePosixPath(folder / "acme"),), (parse_host_rule("db.acme.example:5432"),))
    main = EgressRules((PurePosixPath(folder / "main"),))
    rules = EgressRules((PurePosixPath(folder / "named"),), (parse_host_rule("10.0.0.0/8:*"),))
    named = dict.fromkeys(NAMES, rules)
    settings = replace(settings_in(folder), egress=EgressPolicy({"o_acme": acme, "organization": main, **named}))
    deployment = open_deployment(settings)
    try:
        opened = DeploymentHarness(deployment)
        with serving(opened):
            opened.organization("acme", "nekt", id="o_acme")
            yield opened
    finally:
        deployment.close()


@pytest.fixture(scope="module")
def acme(world: DeploymentHarness) -> OrganizationClient:
    found = world.deployment.organizations.find("acme")
    owner = next(each for each in found.control.snapshot.principals)
    place = OrganizationClient(world.http, found, "/o/o_acme", {})
    place.tokens["owner"] = place.token(owner)
    return place


def create(place: OrganizationClient, name: str, body: dict[str, Any], who: str = "owner") -> Any:
    return place.call(who, "POST", "/connections", {"name": name, **body})


class TestAtCreation:
    def test_a_folder_on_the_organizations_own_list_can_be_connected(
        self, world: DeploymentHarness, acme: OrganizationClient
    ) -> None:
        root = world.deployment.settings.folder.parent

        assert create(acme, "mine", {"folder": f"{root}/acme"}).status_code == 201
        assert create(acme, "deep", {"folder": f"{root}/acme/deep"}).status_code == 201
        assert create(world, "home", {"folder": f"{root}/main"}).status_code == 201

    def test_a_connection_is_shown_without_a_refusal(self, world: DeploymentHarness, acme: OrganizationClient) -> None:
        root = world.deployment.settings.folder.parent
        create(acme, "listed", {"folder": f"{root}/acme"}).raise_for_status()

        assert "refused" not in acme.call("owner", "GET", "/connections/listed").raise_for_status().json()

    @pytest.mark.parametrize("folder", ["/etc", "/", "/proc/self", "{root}/secrets", "{root}/main", "{root}/data",
                                        "{root}/acme/../secrets", "{root}"])  # fmt: skip
    def test_a_folder_that_is_not_listed_is_refused(
        self, world: DeploymentHarness, acme: OrganizationClient, folder: str
    ) -> None:
        named = folder.format(root=world.deployment.settings.folder.parent)

        answer = create(acme, "other", {"folder": named})

        assert answer.status_code == 422
        assert "HEADGATE_EGRESS" in answer.text

    @pytest.mark.parametrize("body", [HTTP, METADATA, STORE], ids=["loopback", "metadata", "store"])
    def test_a_host_that_is_not_listed_is_refused(self, acme: OrganizationClient, body: dict[str, Any]) -> None:
        answer = create(acme, "other", body)

        assert answer.status_code == 422
        assert "HEADGATE_EGRESS" in answer.text

    def test_an_organization_cannot_connect_a_host_on_the_list_of_another(
        self, world: DeploymentHarness, acme: OrganizationClient
    ) -> None:
        database = {"postgresql": {"host": "db.acme.example", "database": "shop", "user": "u"}}

        assert create(acme, "shop", database).status_code == 201
        assert create(world, "shop", database).status_code == 422

    def test_a_caller_without_the_privilege_to_create_connections_learns_nothing_of_the_list(
        self, world: DeploymentHarness, acme: OrganizationClient
    ) -> None:
        acme.add("mel")
        root = world.deployment.settings.folder.parent

        answers = [create(acme, "x", {"folder": f"{root}/{name}"}, "mel") for name in ("acme", "main")]

        assert [each.status_code for each in answers] == [403, 403]
        assert "HEADGATE_EGRESS" not in answers[1].text


class TestAnOrganization:
    @pytest.mark.parametrize("name", NAMES)
    def test_a_renamed_organization_gets_no_rules_by_its_new_name(
        self, world: DeploymentHarness, acme: OrganizationClient, name: str
    ) -> None:
        root = world.deployment.settings.folder.parent
        acme.call("owner", "PATCH", "/organization", {"name": name}).raise_for_status()
        try:
            answers = [
                create(acme, "taken", {"folder": f"{root}/named"}),
                create(acme, "taken", {"http": {"base_url": "http://10.1.2.3:8080"}}),
                create(acme, "taken", {"folder": f"{root}/main"}),
            ]
        finally:
            acme.call("owner", "PATCH", "/organization", {"name": "acme"}).raise_for_status()

        assert [each.status_code for each in answers] == [422, 422, 422]

    def test_a_new_organization_gets_no_rules_by_its_name(self, world: DeploymentHarness) -> None:
        root = world.deployment.settings.folder.parent
        place = world.organization(NAMES[1], "nekt")

        assert create(place, "taken", {"folder": f"{root}/named"}).status_code == 422

    def test_a_renamed_organization_has_its_own_rules_as_before(
        self, world: DeploymentHarness, acme: OrganizationClient
    ) -> None:
        root = world.deployment.settings.folder.parent
        acme.call("owner", "PATCH", "/organization", {"name": "renamed"}).raise_for_status()
        try:
            answer = create(acme, "kept", {"folder": f"{root}/acme"})
        finally:
            acme.call("owner", "PATCH", "/organization", {"name": "acme"}).raise_for_status()

        assert answer.status_code == 201


def source(name: str) -> dict[str, Any]:
    """Return the definition of a source of the connection `former`."""
    stream = {"name": name, "file": f"{name}.csv", "into": f"lake.raw.{name}"}
    return {"kind": "source", "name": name, "connection": "former", "streams": [stream]}


@pytest.fixture(scope="module")
def former(world: DeploymentHarness, acme: OrganizationClient) -> Iterator[OrganizationClient]:
    """Return the organization after the operator has removed all its egress rules."""
    root = world.deployment.settings.folder.parent
    create(acme, "former", {"folder": f"{root}/acme"}).raise_for_status()
    acme.call("owner", "POST", "/databases", {"name": "raw"}).raise_for_status()
    acme.call("owner", "PUT", "/pipelines/before", source("before")).raise_for_status()
    before = world.app.state.deployed
    emptied = replace(world.deployment.settings, egress=EgressPolicy())
    world.app.state.deployed = replace(before, egress=egress_of(emptied))
    yield acme
    world.app.state.deployed = before


class TestAConnectionThatIsNotListedAnyMore:
    def test_a_connection_that_is_no_longer_listed_is_shown_with_the_reason(self, former: OrganizationClient) -> None:
        shown = former.call("owner", "GET", "/connections/former").json()

        assert "HEADGATE_EGRESS" in shown["refused"]

    def test_a_pipeline_that_names_an_unlisted_connection_cannot_be_saved(self, former: OrganizationClient) -> None:
        answer = former.call("owner", "PUT", "/pipelines/after", source("after"))

        assert answer.status_code == 422
        assert "`former`" in answer.text
        assert "HEADGATE_EGRESS" in answer.text

    def test_a_stream_cannot_be_added_to_a_source_with_an_unlisted_connection(self, former: OrganizationClient) -> None:
        stream = {"name": "more", "file": "more.csv", "into": "lake.raw.more"}

        answer = former.call("owner", "POST", "/pipelines/before/streams", stream)

        assert answer.status_code == 422
        assert "HEADGATE_EGRESS" in answer.text

    def test_a_run_cannot_use_an_unlisted_connection(
        self, world: DeploymentHarness, former: OrganizationClient
    ) -> None:
        settings = replace(world.deployment.settings, egress=EgressPolicy())
        emptied = replace(world.deployment, egress=egress_of(settings))
        connection = next(each.id for each in former.control.snapshot.resources.values() if each.name == "former")

        with pytest.raises(EgressError, match="HEADGATE_EGRESS"):
            emptied.external_access_of(former.opened).place(connection)


@pytest.mark.parametrize(
    ("url", "listens"),
    [
        ("postgresql://u:p@db.example.org/headgate", [("db.example.org", 5432)]),
        ("postgresql://u@/headgate?host=a:1&host=b:2", [("a", 1), ("b", 2)]),
        ("postgresql://u@/headgate?hostaddr=10.0.0.1", [("10.0.0.1", 5432)]),
        ("postgresql://u@/headgate?host=/var/run/postgresql&port=5433", [("", 5433)]),
        ("postgresql:///headgate", [("", 5432)]),
        ("postgresql://u@db/headgate?hostaddr=10.0.0.1", [("db", 5432), ("10.0.0.1", 5432)]),
        (None, []),
    ],
)
def test_the_address_of_the_store_is_read_from_its_url(
    monkeypatch: pytest.MonkeyPatch, url: str | None, listens: list[tuple[str, int]]
) -> None:
    clear_libpq(monkeypatch)

    assert list(store_server(url).listens) == listens


@pytest.mark.parametrize(
    ("environ", "query", "listens"),
    [
        ({"PGHOST": "db.example.org", "PGPORT": "5433"}, "", [("db.example.org", 5433)]),
        ({"PGHOSTADDR": "10.0.0.1"}, "", [("10.0.0.1", 5432)]),
        ({"PGHOST": "db", "PGHOSTADDR": "10.0.0.1", "PGPORT": "5433"}, "", [("db", 5433), ("10.0.0.1", 5433)]),
        ({"PGSERVICE": "own"}, "", [("10.0.0.9", 5444)]),
        ({}, "?service=own", [("10.0.0.9", 5444)]),
        ({"PGHOSTADDR": "10.0.0.1"}, "?host=db", [("db", 5432), ("10.0.0.1", 5432)]),
    ],
)
def test_the_address_of_the_store_is_read_from_the_environment_and_services_of_libpq(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    query: str,
    listens: list[tuple[str, int]],
) -> None:
    clear_libpq(monkeypatch)
    (tmp_path / "services").write_text("[own]\nhostaddr=10.0.0.9\nport=5444\n")
    for name, value in {**environ, "PGSERVICEFILE": str(tmp_path / "services")}.items():
        monkeypatch.setenv(name, value)

    assert list(store_server(f"postgresql:///headgate{query}").listens) == listens


def clear_libpq(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all environment variables that libpq reads."""
    for each in Conninfo.get_defaults():
        if each.envvar:
            monkeypatch.delenv(each.envvar.decode(), raising=False)
