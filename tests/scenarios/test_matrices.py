"""The permission matrices of the four products, cell by cell: the tables of MODELS.md, written a second time.

The suite asks a sample of these cells. The code here reads each table in the simplest way, independent of the models.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headgate.cli.scenarios.folders import System, read_folder
from headgate.conformance.questions import expand_question
from headgate.conformance.steps import perform
from headgate.decision.engine.engine import Engine
from tests.scenarios.folders import CONFORMANCE

Step = Mapping[str, Any]
Cell = tuple[str, str, bool, Mapping[str, Any]]
"""An action on a resource, whether it is allowed, and its parameters."""

SYSTEMS: Mapping[str, System] = {each.name: each for each in read_folder(CONFORMANCE, Engine)}


def wrong(system: str, actor: str, rows: Iterator[tuple[Sequence[Step], Sequence[Cell]]]) -> list[str]:
    """Return the cells on which the model decides differently, each with its steps."""
    found: list[str] = []
    for given, cells in rows:
        world = SYSTEMS[system].world
        for step in given:
            world = perform(world, step)
        for action, resource, allowed, with_ in cells:
            asked = expand_question(world, {"actor": actor, "action": action, "resource": resource, "with": with_})
            answers = [world.engines[each.log].check(each.question, world.now).allowed for each in asked]
            if (bool(answers) and all(answers)) != allowed:
                found.append(f"{[*given]}: {action} {resource} {with_} is not {allowed}")
    return found


def cell(action: str, resource: str, allowed: bool, **with_: Any) -> Cell:  # noqa: FBT001 (a table's Y and N)
    return action, resource, allowed, with_


def grant(to: str, on: str, **what: str) -> Step:
    return {"grant": {"to": to, "on": on, **what}}


def line(tree: Mapping[str, str], id: str) -> list[str]:
    """An id and all ids above it."""
    return [id, *line(tree, tree[id])] if id in tree else [id]


class TestNekt:
    LEVELS = ("none", "viewer", "editor", "manager")
    TREE: Mapping[str, str] = {"T1": "L", "T2": "L", "V1": "L", "T3": "L2", "V2": "L2"}
    DATA: Mapping[str, str] = {"see": "viewer", "edit": "editor", "change_description": "editor", "delete": "manager"}
    PIPELINES: Mapping[str, str] = {
        "see": "viewer",
        "see_runs": "viewer",
        "edit": "editor",
        "activate": "editor",
        "deactivate": "editor",
        "trigger": "editor",
        "delete": "manager",
    }
    TOUCHED: Mapping[str, str] = {
        "S1": "T1 T2",
        "S2": "T1",
        "S3": "T1 T3",
        "S4": "L",
        "Q1": "T1 T2",
        "Q2": "T1 T3",
        "N1": "T1 T2",
        "N2": "V1 T2",
        "H1": "T1 T2",
        "D1": "T1",
        "I1": "T1",
        "X1": "T1",
    }

    def test_levels_of_nekt_give_what_the_matrix_says(self) -> None:
        assert wrong("nekt", "m", self._rows()) == []

    def _rows(self) -> Iterator[tuple[Sequence[Step], Sequence[Cell]]]:
        yield [], [*self._cells("none", "L")]
        for level in self.LEVELS[1:]:
            for place in ("L", "L2", "T1", "V1", "T3"):
                yield [grant("m", place, role=level)], [*self._cells(level, place)]

    def _held(self, level: str, place: str, id: str) -> int:
        """Return the level on a resource: the level itself further down, `viewer` one step up, none sideways."""
        strength = self.LEVELS.index(level)
        return strength if place in line(self.TREE, id) else min(strength, self.TREE.get(place) == id)

    def _cells(self, level: str, place: str) -> Iterator[Cell]:
        at = {id: self._held(level, place, id) for id in ("L", "L2", *self.TREE)}
        needs = self.LEVELS.index
        for id, held in at.items():
            yield from (cell(action, id, held >= needs(least)) for action, least in self.DATA.items())
            for role in self.LEVELS[1:]:
                yield cell("grant", id, held == needs("manager") and role != "manager", role=role, to="n")
        for id, touched in self.TOUCHED.items():
            weakest = min(at[each] for each in touched.split())
            yield from (cell(action, id, weakest >= needs(least)) for action, least in self.PIPELINES.items())
        for layer in ("L", "L2"):
            into = at[layer] >= needs("editor")
            yield from (cell("create", layer, into, type=type) for type in ("table", "volume"))
            new, reads = [{"new_table_in": layer}], at["T1"] >= needs("editor")
            yield cell("create", "workspace", into, type="source", outputs=new)
            for type in ("query", "notebook", "history"):
                yield cell("create", "workspace", into and reads, type=type, inputs=["T1"], outputs=new)
        for type in ("destination", "integration", "visualization"):
            yield cell("create", "workspace", at["T1"] >= needs("editor"), type=type, inputs=["T1"])
        yield cell("execute_query", "workspace", at["T1"] >= needs("viewer"), reads=["T1"])
        yield cell("edit", "SQ1", at["T1"] >= needs("viewer"))
        yield cell("delete", "SQ9", allowed=False)


class TestY42:
    TREE: Mapping[str, str] = {
        **dict.fromkeys(("P1", "P2"), "O"),
        **dict.fromkeys(("MI", "MM", "MD"), "P1"),
        **dict.fromkeys(("I1", "I2"), "MI"),
        **dict.fromkeys(("TI1", "JI1"), "I1"),
        "TI2": "I2",
        **dict.fromkeys(("M1", "M2"), "MM"),
        **dict.fromkeys(("TM1", "JM1"), "M1"),
        "R1": "JM1",
        "TM2": "M2",
        "D1": "MD",
        "MM9": "P2",
        "M9": "MM9",
        "TM9": "M9",
    }
    EVERYWHERE = ("O", *(id for id in TREE if id != "R1"))
    MODULES = ("MI", "MM", "MD", "MM9")
    PLACES: Mapping[str, Sequence[str]] = {
        "administrator": ("O",),
        "billing_administrator": ("O",),
        "owner": EVERYWHERE,
        "editor": EVERYWHERE,
        "viewer": EVERYWHERE,
        "member": ("O", "P1", "P2", *MODULES),
        "guest": ("O", "P1", "P2"),
        "manager": (),
    }
    MADE: Mapping[str, str] = {
        "O": "space",
        "P1": "module",
        "MM": "model",
        "MI": "integration",
        "MD": "dashboard",
        "M1": "table",
        "I1": "job",
        "JM1": "run",
    }
    GRANTS: Mapping[str, Sequence[str]] = {
        "administrator": tuple(PLACES),
        "owner": ("owner", "editor", "viewer", "member", "guest"),
        "editor": ("editor",),
    }

    def test_roles_of_y42_give_what_the_matrix_says(self) -> None:
        assert wrong("y42", "u", self._rows()) == []

    def _rows(self) -> Iterator[tuple[Sequence[Step], Sequence[Cell]]]:
        for role, places in self.PLACES.items():
            for place in places:
                entry = [] if place == "O" else [grant("u", "O", role="member")]
                given = [*entry, grant("u", place, role=role), grant("v", "O", role="member")]
                yield given, [*self._cells(role, place), *self._beside(role, place)]

    def _cells(self, role: str, place: str) -> Iterator[Cell]:
        inherited = role in ("administrator", "owner", "editor", "viewer")
        for id in ("O", *self.TREE):
            here = inherited and place in line(self.TREE, id)
            changes = here and role != "viewer"
            deletes = here and (role == "administrator" or (role == "owner" and id != "O"))
            yield from (cell("read", id, here), cell("edit", id, changes), cell("delete", id, deletes))
            space = [each for each in line(self.TREE, id) if each in ("P1", "P2")]
            inside = any(each in line(self.TREE, place) for each in space) or (inherited and place == "O")
            yield cell("discover", id, inside if space else role != "billing_administrator")
            if id in ("P1", "P2"):
                yield cell("git_checkout", id, inside)
            if id in self.MADE:
                yield cell("create_child", id, changes, type=self.MADE[id])
            for given, places in self.PLACES.items():
                may = here and given in self.GRANTS.get(role, ()) and id in places
                yield cell("grant", id, may, role=given, to="v")

    def _beside(self, role: str, place: str) -> Iterator[Cell]:
        """Teams and keys are below the organization: its roles reach them, and those assigned in a space do not."""
        for id in ("T", "K"):
            yield cell("read", id, place == "O" and role in ("administrator", "owner", "editor", "viewer"))
            yield cell("edit", id, place == "O" and role in ("administrator", "owner", "editor"))
            yield cell("delete", id, place == "O" and role in ("administrator", "owner"))
            yield cell("discover", id, role != "billing_administrator")


class TestOnehouse:
    TREE: Mapping[str, str] = {"D1": "K", "D2": "K", "T1": "D1", "T2": "D1", "T3": "D2", "DK2": "K2", "TK2": "DK2"}
    DATA = ("K", "K2", *TREE)
    TABLES = ("T1", "T2", "T3", "TK2")
    GRANTED: Mapping[str, Sequence[str]] = {
        **dict.fromkeys(("ALL", "MANAGE", "DROP", "DESCRIBE", "ALTER", "SELECT", "INSERT", "DELETE"), DATA),
        "CREATE_DATABASE": ("K", "K2"),
        "CREATE_TABLE": tuple(id for id in DATA if id not in ("T1", "T2", "T3", "TK2")),
    }
    PRIVILEGES: Mapping[str, tuple[str, Sequence[str]]] = {
        "drop": ("DROP", DATA),
        "describe": ("DESCRIBE", DATA),
        "alter_schema": ("ALTER", TABLES),
        "select": ("SELECT INSERT", TABLES),
        "insert": ("INSERT", TABLES),
        "update": ("INSERT", TABLES),
        "create_savepoint": ("INSERT", TABLES),
        "restore_savepoint": ("INSERT", TABLES),
        "delete_rows": ("DELETE", TABLES),
    }
    ROLES: Mapping[str, Sequence[str]] = {
        **dict.fromkeys(("C", "SRC", "CAT", "J"), ("viewer", "user", "editor", "manager")),
        "F": ("viewer", "editor", "manager"),
    }
    SHARED: Mapping[str, str] = {
        "view_definition": "viewer",
        "view_notification": "viewer",
        "dismiss_notification": "viewer",
        "edit_definition": "editor",
        "modify_permissions": "manager",
        "delete": "manager",
    }
    OWN: Mapping[str, Mapping[str, str]] = {
        "C": {"view_endpoint": "user"},
        "SRC": {},
        "CAT": {},
        "J": {"view_run_metadata": "viewer", "view_run_logs": "user", "trigger_run": "user", "cancel_run": "user"},
        "F": {"view_driver_logs": "viewer", "pause": "editor", "resume": "editor", "clean_and_restart": "manager"},
    }
    IN = (grant("u", "A", role="member"), grant("u", "P", role="member"))
    PEER = (grant("v", "A", role="member"), grant("v", "P", role="member"))

    def test_privileges_of_onehouse_give_what_the_table_says(self) -> None:
        assert wrong("onehouse", "u", self._privileges()) == []

    def test_table_services_of_onehouse_need_the_cluster_and_the_table(self) -> None:
        assert wrong("onehouse", "u", self._services()) == []

    def test_roles_of_onehouse_give_what_the_matrices_say(self) -> None:
        assert wrong("onehouse", "u", self._roles()) == []

    def _privileges(self) -> Iterator[tuple[Sequence[Step], Sequence[Cell]]]:
        for privilege, places in self.GRANTED.items():
            for place in places:
                given = [*self.IN, *self.PEER, grant("u", place, privilege=privilege)]
                yield given, [*self._data(privilege, place), *self._granting(privilege, place)]

    def _data(self, privilege: str, place: str) -> Iterator[Cell]:
        for action, (enough, kinds) in self.PRIVILEGES.items():
            for id in kinds:
                yield cell(action, id, self._holds(privilege, place, id, *enough.split()))
        for id in self.DATA:
            if id in self.GRANTED["CREATE_DATABASE"]:
                yield cell("create", id, self._holds(privilege, place, id, "CREATE_DATABASE"), type="database")
            elif id not in self.TABLES:
                yield cell("create", id, self._holds(privilege, place, id, "CREATE_TABLE"), type="table")

    def _granting(self, privilege: str, place: str) -> Iterator[Cell]:
        for id in self.DATA:
            manages = self._holds(privilege, place, id, "MANAGE")
            for given, places in self.GRANTED.items():
                yield cell("grant", id, manages and id in places, privilege=given, to="v")

    def _holds(self, privilege: str, place: str, id: str, *enough: str) -> bool:
        return place in line(self.TREE, id) and privilege in ("ALL", *enough)

    def _services(self) -> Iterator[tuple[Sequence[Step], Sequence[Cell]]]:
        for privilege in self.GRANTED:
            for role in self.ROLES["C"]:
                place = "K" if privilege.startswith("CREATE") else "D1"
                given = [*self.IN, grant("u", place, privilege=privilege), grant("u", "C", role=role)]
                yield given, [*self._service_cells(privilege, role)]

    def _service_cells(self, privilege: str, role: str) -> Iterator[Cell]:
        for kind in ("compaction", "clustering", "cleaning", "metasync"):
            runs = role != "viewer" and privilege in ("ALL", "SELECT" if kind == "metasync" else "ALTER")
            yield cell("create", "T1", runs, type="table_service", kind=kind)
            for action in ("edit_definition", "delete", "pause", "resume"):
                yield cell(action, f"{kind}_T1", runs)
            for action in ("view_definition", "view_metrics", "view_run_history", "view_notification"):
                yield cell(action, f"{kind}_T1", privilege in ("ALL", "DESCRIBE"))

    def _roles(self) -> Iterator[tuple[Sequence[Step], Sequence[Cell]]]:
        for id, roles in self.ROLES.items():
            yield [*self.IN, *self.PEER], [*self._role_cells(id, -1)]
            yield [self.IN[0], *self.PEER, grant("u", id, role="manager")], [*self._role_cells(id, -1)]
            yield [self.IN[0], *self.PEER, grant("u", "P", role="admin")], [*self._role_cells(id, len(roles))]
            for strength, role in enumerate(roles):
                yield [*self.IN, *self.PEER, grant("u", id, role=role)], [*self._role_cells(id, strength)]

    def _role_cells(self, id: str, strength: int) -> Iterator[Cell]:
        roles = self.ROLES[id]
        for action, least in {**self.SHARED, **self.OWN[id]}.items():
            yield cell(action, id, strength >= roles.index(least))
        if id == "C":
            yield cell("assign", id, strength >= roles.index("user"), type="job")
        if id in ("SRC", "CAT"):
            yield cell("use", id, strength >= roles.index("user"), **{"in": "stream_capture"})
        for given in ("viewer", "user", "editor", "manager", "member", "admin"):
            yield cell("grant", id, strength >= roles.index("manager") and given in roles, role=given, to="v")
        yield cell("grant", id, allowed=False, privilege="SELECT", to="v")


class TestDataMesh:
    TREE: Mapping[str, str] = {"TA": "DOM", "TA1": "TA"}
    TEAMS = ("DOM", "TA", "TA1", "TB", "GG")
    OWNED: Mapping[str, str] = {
        **dict.fromkeys(("DP1", "OP1", "DC1", "DEF1", "TG1"), "TA"),
        "DP2": "TA1",
        "DP3": "TB",
        "OP9": "TB",
        "DP4": "DOM",
        "POL1": "GG",
    }
    PERMISSIONS = (
        *("RESOURCES_ADD", "RESOURCES_EDIT", "RESOURCES_DELETE", "CHANGE_REQUEST_SUBMIT", "CHANGE_REQUEST_APPROVE"),
        *("ACCESS_ADD", "ACCESS_EDIT", "ACCESS_DELETE", "ACCESS_REQUEST", "ACCESS_APPROVE", "ACCESS_TERMINATE"),
        *("TEAM_ADD", "TEAM_EDIT", "TEAM_DELETE", "TEAM_MEMBER_ADD", "TEAM_MEMBER_EDIT", "TEAM_MEMBER_DELETE"),
    )
    HALVES: Mapping[str, Sequence[str]] = {
        "ACCESS_EDIT": ("edit as consumer", "edit as provider"),
        "ACCESS_TERMINATE": ("terminate as consumer", "terminate as provider"),
    }
    SETS: Mapping[str, Sequence[str]] = {
        "owner": PERMISSIONS,
        "approver": PERMISSIONS[:11],
        "editor": (
            *("RESOURCES_ADD", "RESOURCES_EDIT", "RESOURCES_DELETE", "CHANGE_REQUEST_SUBMIT", "ACCESS_REQUEST"),
            *("edit as consumer", "terminate as consumer"),
        ),
        "member": ("CHANGE_REQUEST_SUBMIT", "ACCESS_REQUEST"),
        "steward": (),
    }
    CUSTOM = (
        {"define_role": {"name": "Plain", "permissions": []}},
        {"set": {"on": "O1", "role_mode": "custom"}},
    )
    STATES: Mapping[str, Sequence[Step]] = {
        "requested": (),
        "approved": ({"approve_access": {"id": "AR", "start": "+5d", "end": "+30d"}},),
        "active": ({"approve_access": {"id": "AR", "start": "+0d", "end": "+30d"}},),
        "expired": ({"approve_access": {"id": "AR", "start": "+0d", "end": "+30d"}}, {"clock": "+30d"}),
        "terminated": (
            {"approve_access": {"id": "AR", "start": "+0d", "end": "+30d"}},
            {"terminate_access": {"id": "AR"}},
        ),
        "rejected": ({"reject_access": {"id": "AR"}},),
    }

    def test_default_roles_of_datamesh_give_what_the_table_says(self) -> None:
        roles = ((role, frozenset(held), "member", ()) for role, held in self.SETS.items())

        assert [text for each in roles for text in self._wrong(*each)] == []

    def test_each_permission_of_datamesh_gives_what_its_row_says_and_nothing_else(self) -> None:
        for permission in self.PERMISSIONS:
            defined = {"define_role": {"name": "R", "permissions": [permission]}}

            assert self._wrong("R", frozenset((permission,)), "Plain", (defined, *self.CUSTOM)) == []

    def _wrong(self, role: str, held: frozenset[str], other: str, before: Sequence[Step]) -> list[str]:
        """Ask every question about a user who has the role in each team in turn; `other` is a role of `n` that grants nothing."""
        whole = held.union(*(self.HALVES.get(permission, ()) for permission in held))
        rows = (
            ([*before, {"team_role": {"user": "u", "team": team, "role": role}}, *then], cells)
            for team in (*self.TEAMS, "TC")
            for then, cells in self._rows(Held(whole, team, self.TREE), other)
        )
        return wrong("datamesh", "u", rows)

    def _rows(self, held: "Held", other: str) -> Iterator[tuple[Sequence[Step], Sequence[Cell]]]:
        change_process = {"set": {"on": "O1", "change_process": True}}
        yield [], [*self._resources(held), *self._teams(held, other)]
        yield (
            [change_process],
            [
                *(cell("edit", id, held("RESOURCES_EDIT", owner)) for id, owner in self.OWNED.items()),
                *(cell("submit_change", id, held("CHANGE_REQUEST_SUBMIT", owner)) for id, owner in self.OWNED.items()),
            ],
        )
        for id, owner in self.OWNED.items():
            filed = {"submit_change": {"id": "CR", "on": id, "by": "n"}}
            yield [change_process, filed], [cell("approve_change", "CR", held("CHANGE_REQUEST_APPROVE", owner))]
        for team in self.TEAMS:
            yield [{"team_role": {"user": "n", "team": team, "role": other}}], [*self._members(held, team, other)]
        for state, then in self.STATES.items():
            asked = {"request_access": {"id": "AR", "port": "OP1", "consumer": "TB", "purpose": "p", "by": "n"}}
            yield [asked, *then], [*self._access(held, state)]

    def _resources(self, held: "Held") -> Iterator[Cell]:
        for id, owner in self.OWNED.items():
            yield cell("view", id, allowed=True)
            yield cell("edit", id, held("RESOURCES_EDIT", owner))
            yield cell("delete", id, held("RESOURCES_DELETE", owner))
            yield cell("submit_change", id, allowed=False)

    def _teams(self, held: "Held", other: str) -> Iterator[Cell]:
        for team in self.TEAMS:
            yield cell("edit", team, held("TEAM_EDIT", team))
            yield cell("delete", team, held("TEAM_DELETE", team))
            yield cell("create", team, held("TEAM_ADD", team), type="team")
            yield cell("add_team_member", team, held("TEAM_MEMBER_ADD", team), user="n", role=other)
            yield cell("request_access", "OP1", held("ACCESS_REQUEST", team), consumer=team, purpose="p")
            for type in ("data_product", "data_contract", "definition", "tag"):
                yield cell("create", team, held("RESOURCES_ADD", team), type=type)
            yield cell("create", team, held("RESOURCES_ADD", team) and team == "GG", type="policy")
        yield cell("add_access", "OP1", held("ACCESS_ADD", "TA"), consumer="TB", purpose="p")
        yield cell("request_access", "OP1", allowed=True, consumer="u", purpose="p")

    def _members(self, held: "Held", team: str, other: str) -> Iterator[Cell]:
        yield cell("edit_team_member", team, held("TEAM_MEMBER_EDIT", team), user="n")
        yield cell("change_team_member_role", team, held("TEAM_MEMBER_EDIT", team), user="n", role=other)
        yield cell("remove_team_member", team, held("TEAM_MEMBER_DELETE", team), user="n")
        yield cell("add_team_member", team, allowed=False, user="n", role=other)

    def _access(self, held: "Held", state: str) -> Iterator[Cell]:
        consumes, provides, waits = "TB", "TA", state == "requested"
        holds = state in ("approved", "active")
        edits = held("edit as provider", provides)
        ends = held("terminate as provider", provides) or held("terminate as consumer", consumes)
        yield cell("approve_access", "AR", waits and held("ACCESS_APPROVE", provides))
        yield cell("reject_access", "AR", waits and held("ACCESS_APPROVE", provides))
        yield cell("edit_access", "AR", (holds and edits) or (waits and (edits or held("edit as consumer", consumes))))
        yield cell("terminate_access", "AR", holds and ends)
        yield cell("delete_access", "AR", held("ACCESS_DELETE", provides))


class Held:
    """The permissions of a user with a role in one team: the same in everything below the team."""

    def __init__(self, permissions: frozenset[str], team: str, tree: Mapping[str, str]) -> None:
        self._permissions, self._team, self._tree = permissions, team, tree

    def __call__(self, permission: str, team: str) -> bool:
        return permission in self._permissions and self._team in line(self._tree, team)
