"""The log of what a run was allowed stores each action and resource once."""

from headgate.control.identity.directory import Directory
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.run_access_log import RunAccessLog, allowed_actions
from headgate.control.questions.hidden_names import NameAuthorizer
from headgate.control.questions.messages import RefusalMessages
from headgate.facts.ids import ResourceId, RunId
from tests.control.organization_harness import LAKE, ROOT, nekt, resource

RUN = RunId("run")
FLIGHTS, SALARIES = ResourceId("flights"), ResourceId("salaries")


def read_by(organization: Organization, run: RunId) -> frozenset[str]:
    """Return the full names of the tables whose rows a run was allowed to read."""
    facts = organization.control.snapshot
    found = (id for id, actions in allowed_actions(organization.store, run).items() if "table.select" in actions)
    return frozenset(".".join(facts.full_name(id)) for id in found if id in facts.resources)


def organization() -> Organization:
    world = nekt()
    world.do(resource("trips", "table", "raw"))
    directory = Directory(world.control, world.store)
    wording = RefusalMessages(directory)
    return Organization(ROOT, world.store, world.control, directory, wording, NameAuthorizer(world.control, wording))


def test_allowed_actions_are_stored_by_run_and_resource() -> None:
    main, touched = organization(), RunAccessLog()

    touched.record(
        main, RUN, [("table.select", ("lake", "raw", "flights")), ("table.insert", ("lake", "raw", "trips"))]
    )
    touched.record(main, RUN, [("table.describe", ("lake", "raw", "flights"))])
    touched.record(main, RunId("other"), [("table.select", ("lake", "secret", "salaries"))])

    assert allowed_actions(main.store, RUN) == {
        FLIGHTS: {"table.select", "table.describe"},
        ResourceId("trips"): {"table.insert"},
    }
    assert read_by(main, RUN) == {"lake.raw.flights"}
    assert read_by(main, RunId("other")) == {"lake.secret.salaries"}
    assert read_by(main, RunId("none")) == frozenset()


def test_records_of_another_server_are_not_lost() -> None:
    main, asked = organization(), [("table.select", ("lake", "raw", "flights"))]
    RunAccessLog().record(main, RUN, asked)
    RunAccessLog().record(main, RUN, [("table.select", ("lake", "secret", "salaries"))])

    assert set(allowed_actions(main.store, RUN)) == {FLIGHTS, SALARIES}


def test_an_unknown_name_is_not_recorded() -> None:
    main, touched = organization(), RunAccessLog()
    touched.record(main, RUN, [("table.select", ("lake", "raw", "nothing")), ("lake.describe", ("lake",))])

    assert allowed_actions(main.store, RUN) == {LAKE: {"lake.describe"}}
    assert read_by(main, RUN) == frozenset()
