"""The example model decides like the open-source Unity Catalog server; this file repeats the rules of its annotations.

`BROWSE` and `MANAGE` decide as the documentation of Unity Catalog says.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.cli.scenarios.folders import System, read_folder
from headgate.conformance.runner import ConformanceCase, run_case
from headgate.control.models.commands import InstallModel
from headgate.control.models.library import load_source
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Reference
from tests.app.deployment_harness import world_in

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "models" / "unity_catalog"

Held = frozenset[tuple[str, str]]
"""The grants of a user: a privilege or `OWNER`, and the resource."""

_USE = "S:OWNER,USE_SCHEMA C:OWNER,USE_CATALOG"
_SEEN = "M:OWNER | C:OWNER | S:OWNER C:USE_CATALOG | S:USE_SCHEMA C:USE_CATALOG"

# Resource | operation | alternatives, of which one suffices: `place:A,B` is A or B on the place. `grant` names the
# privilege. BROWSE, MANAGE and the grant of OWNER are from the documentation (UC-AMB-8, UC-AMB-9).
OPERATIONS = f"""
    M  create catalog           M:OWNER,CREATE_CATALOG
    M  grant CREATE_CATALOG     M:OWNER
    M  grant OWNER              M:OWNER
    C  describe                 M:OWNER | C:OWNER,USE_CATALOG,BROWSE,MANAGE
    C  alter                    C:OWNER,MANAGE
    C  drop                     M:OWNER | C:OWNER,MANAGE
    C  create schema            C:OWNER | C:USE_CATALOG C:CREATE_SCHEMA
    C  grant USE_CATALOG        M:OWNER | C:OWNER,MANAGE
    C  grant BROWSE             M:OWNER | C:OWNER,MANAGE
    S  describe                 C:BROWSE | M:OWNER | C:OWNER | S:OWNER,USE_SCHEMA,MANAGE C:USE_CATALOG
    S  alter                    M:OWNER | S:OWNER | S:USE_SCHEMA,MANAGE C:USE_CATALOG
    S  drop                     M:OWNER | C:OWNER | S:OWNER,MANAGE C:USE_CATALOG
    S  create table             C:OWNER,USE_CATALOG S:OWNER | C:OWNER,USE_CATALOG S:USE_SCHEMA S:CREATE_TABLE
    S  create volume            C:OWNER,USE_CATALOG S:OWNER | C:OWNER,USE_CATALOG S:USE_SCHEMA S:CREATE_VOLUME
    S  create function          {_USE}
    S  create registered_model  C:OWNER,USE_CATALOG S:OWNER | C:OWNER,USE_CATALOG S:USE_SCHEMA S:CREATE_MODEL,CREATE_FUNCTION
    S  grant USE_SCHEMA         M:OWNER | C:OWNER | S:OWNER,MANAGE C:USE_CATALOG
    T  describe                 C:BROWSE | {_SEEN} T:OWNER,SELECT,MODIFY,MANAGE
    T  select                   {_USE} T:OWNER,SELECT
    T  insert                   {_USE} T:OWNER | {_USE} T:SELECT T:MODIFY
    T  update                   {_USE} T:OWNER | {_USE} T:SELECT T:MODIFY
    T  delete_rows              {_USE} T:OWNER | {_USE} T:SELECT T:MODIFY
    T  alter                    {_USE} T:OWNER,MODIFY,MANAGE
    T  drop                     C:OWNER | S:OWNER C:USE_CATALOG | S:USE_SCHEMA C:USE_CATALOG T:OWNER,MANAGE
    T  grant SELECT             {_SEEN} T:OWNER,MANAGE
    T  grant MANAGE             {_SEEN} T:OWNER,MANAGE
    V  describe                 C:BROWSE | {_SEEN} V:OWNER,READ_VOLUME,MANAGE
    V  read                     {_USE} V:OWNER,READ_VOLUME
    V  alter                    {_USE} V:OWNER,MANAGE
    V  delete                   C:OWNER | S:OWNER C:USE_CATALOG | S:USE_SCHEMA C:USE_CATALOG V:OWNER,MANAGE
    V  grant READ_VOLUME        {_SEEN} V:OWNER,MANAGE
    F  describe                 C:BROWSE | {_SEEN} F:OWNER,EXECUTE,MANAGE
    F  execute                  {_USE} F:OWNER,EXECUTE
    F  delete                   M:OWNER | {_USE} F:OWNER,MANAGE
    F  grant EXECUTE            {_SEEN} F:OWNER,MANAGE
    R  describe                 C:BROWSE | {_SEEN} R:OWNER,EXECUTE,MANAGE
    R  read                     {_USE} R:OWNER,EXECUTE
    R  edit                     {_USE} R:OWNER,MANAGE
    R  delete                   {_SEEN} R:OWNER,MANAGE
    R  grant EXECUTE            M:OWNER | R:OWNER | S:OWNER,USE_SCHEMA C:USE_CATALOG R:MANAGE
"""


@dataclass(frozen=True)
class Operation:
    """An operation of the server: its resource, its name, and the alternatives that allow it."""

    place: str
    what: str
    ways: tuple[tuple[str, ...], ...]

    def allowed(self, held: Held) -> bool:
        """Whether these grants meet one of the alternatives."""
        return any(all(_meets(held, needed) for needed in way) for way in self.ways)

    def matters(self) -> list[tuple[str, str]]:
        """Return the grants that can matter: each privilege of the alternatives, on every resource from which it is inherited."""
        named = {tuple(needed.split(":")) for way in self.ways for needed in way}
        found = {(place, name) for place, names in named for name in names.split(",")}
        return sorted(found | {(above, name) for place, name in found if name != "OWNER" for above in _above(place)})


def _operations() -> Iterator[Operation]:
    for line in OPERATIONS.strip().splitlines():
        place, rest = line.split(maxsplit=1)
        what, ways = rest.split("  ", maxsplit=1)
        yield Operation(place, what, tuple(tuple(way.split()) for way in ways.split("|")))


def _above(place: str) -> tuple[str, ...]:
    """Return the resources from which a place has privileges; none are inherited from the metastore."""
    return (place,) if place in "MC" else (place, "C") if place == "S" else (place, "S", "C")


def _meets(held: Held, needed: str) -> bool:
    place, _, names = needed.partition(":")
    return any(
        (place, "OWNER") in held if name == "OWNER" else any((there, name) in held for there in _above(place))
        for name in names.split(",")
    )


@pytest.fixture(scope="module", params=[Reference, Engine])
def system(request: pytest.FixtureRequest) -> System:
    """The example's folder, decided by the reference or by the engine."""
    [found] = read_folder(FOLDER, request.param)
    return found


def _answer(system: System, held: Held, operation: Operation) -> str:
    verb, _, of = operation.what.partition(" ")
    given = tuple({"grant": {"to": "ann", "privilege": name, "on": place}} for place, name in sorted(held))
    parameters = {"create": {"type": of}, "grant": {"privilege": of, "to": "bob"}}.get(verb, {})
    ask = {"actor": "ann", "action": verb, "resource": operation.place, "with": parameters}
    return run_case(system.world, ConformanceCase("", given, ask, "allow", "")).answer


class TestTheModel:
    @settings(deadline=None)
    @given(data=st.data())
    def test_the_example_model_allows_exactly_what_the_unity_catalog_server_allows(
        self, system: System, data: st.DataObject
    ) -> None:
        """For all grants above the resource, each operation is decided as the server's annotation defines it."""
        operation = data.draw(st.sampled_from(list(_operations())))
        held = data.draw(st.frozensets(st.sampled_from(operation.matters())))

        assert _answer(system, held, operation) == ("allow" if operation.allowed(held) else "deny")

    def test_the_example_model_answers_every_case_as_it_expects(self, system: System) -> None:
        outcomes = [run_case(system.world, case) for case in system.cases]

        assert [f"{each.case.id}: {each.answer}, {each.why}" for each in outcomes if not each.passed] == []
        assert len(outcomes) >= 60

    def test_the_example_model_decides_in_an_organization_that_is_created_under_it(self, tmp_path: Path) -> None:
        """Its owner creates the catalog, owns it, and lets a new user read a table."""
        [file] = FOLDER.glob("*.yaml")
        with world_in(tmp_path, founding=False) as world:
            world.deployment.organizations.deployment.control.execute(
                InstallModel(load_source(file.read_text(), file.name)), None
            )
            place = world.organization("acme", "unity_catalog")
            for type, parent, name in (
                ("lake", "project", "lake"),
                ("database", "lake", "sales"),
                ("table", "lake.sales", "orders"),
            ):
                place.create("/resources", {"type": type, "parent": parent, "name": name})
            user = place.create("/users", {"name": "ann"})
            for role, name in (("USE_CATALOG", "lake"), ("USE_SCHEMA", "lake.sales"), ("SELECT", "lake.sales.orders")):
                assert place.give(user, role, name).status_code == 201

            question = {"action": "table.select", "resource": "lake.sales.orders", "subject": user}

            assert place.result("owner", "POST", "/questions", question)["allowed"]
