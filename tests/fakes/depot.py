"""An organization under a small model with own types, single holders, future grants and teams that act."""

from headgate.control.access.assignments import AssignRole
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.identity.principals import AddPrincipal
from headgate.control.identity.tokens import IssueToken
from headgate.control.models.commands import InstallModel
from headgate.control.models.library import load_source
from headgate.control.questions.messages import reason_on
from headgate.control.resources.commands import CreateResource
from headgate.decision.explain.explain import explain
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId, TokenId
from tests.fakes.store import FakeStores

MODEL = """\
model: depot
version: 1
types:
  organization: {under: [deployment]}
  group: {under: [organization]}
  service_principal: {under: [organization]}
  token: {under: [service_principal]}
  crew: {own: true, under: [organization]}
  database: {under: [organization]}
  table: {under: [database]}
roles:
  owner:
    on: [organization]
    to: [user]
    actions:
      organization: [add_user, manage_users, create_database, create_crew]
      crew: [describe, delete]
      database: [describe, create_table]
      table: [describe]
  member: {on: [crew], to: [user, crew], actions: {crew: [describe]}}
  watcher: {on: [organization], to: [user], actions: {organization: [describe]}}
  keeper: {on: [table], to: [user, crew], single: true, actions: {table: [describe, drop]}}
  reader: {on: [table], to: [user, crew], actions: {table: [describe, select]}}
  maker: {on: [database], to: [user, crew], actions: {database: [describe, create_table]}}
  future_reader: {on: [organization, database], to: [user, crew]}
members: {crew: [member]}
acting: {database: [create_table]}
spread:
  - {roles: [owner], from: [organization]}
assign:
  - {holder: owner, roles: [owner, watcher, future_reader], on: [organization]}
  - {holder: owner, roles: [member], on: [crew]}
  - {holder: owner, roles: [maker, future_reader], on: [database]}
  - {holder: owner, roles: [reader], on: [table], verbs: [add, remove, change]}
  - {holder: keeper, roles: [keeper], on: [table]}
creators:
  - {types: [organization], role: owner}
  - {types: [table], role: keeper, acting: true}
  - {types: [table], role: reader, future: future_reader}
"""
ANN, BEN, CY = PrincipalId("ann"), PrincipalId("ben"), PrincipalId("cy")
DEPOT, DATABASE, TABLE = ResourceId("depot"), ResourceId("north"), ResourceId("grain")
RED, BLUE = ResourceId("red"), ResourceId("blue")


class World:
    """An organization under the model, with two crews, a database and three users."""

    def __init__(self) -> None:
        self.now = 1.0
        self.organizations = open_organizations(FakeStores(), lambda: self.now, "nekt")
        self.organizations.deployment.control.execute(InstallModel(load_source(MODEL, "depot.yaml")), None)
        spec = OrganizationSpec(DEPOT, "depot", ANN, "Ann", "depot")
        self.control = create_organization(self.organizations, spec).control
        for command in (
            CreateResource(RED, "crew", DEPOT, "red"),
            CreateResource(BLUE, "crew", DEPOT, "blue"),
            CreateResource(DATABASE, "database", DEPOT, "north"),
            AddPrincipal(BEN, "Ben", "watcher"),
            AddPrincipal(CY, "Cy", "watcher"),
        ):
            self.control.execute(command, None)

    def assign(self, subject: SubjectId, role: str, place: ResourceId, ends: float | None = None) -> None:
        self.control.execute(AssignRole(subject, role, place, ends), None)

    def create_table(self, caller: Caller | None) -> None:
        self.control.execute(CreateResource(TABLE, "table", DATABASE, "grain"), caller)

    def token(self, principal: PrincipalId, team: ResourceId) -> Caller:
        self.control.execute(IssueToken(TokenId("k"), "secret", principal, acts_in=team), Caller(principal))
        return Caller(principal, TokenId("k"))

    def holders(self, role: str) -> set[str]:
        return {each.subject for each in self.control.snapshot.list_assigned_on(TABLE) if each.role == role}

    def reason(self, caller: Caller) -> str:
        """Return the reason why a caller may not create a table."""
        question = Question(caller, "database.create_table", DATABASE)
        missing = explain(self.control.models, self.control.snapshot, question, self.now).decision.missing
        assert missing is not None
        return reason_on("north", missing, "you")

    def may(self, caller: Caller, action: str, place: ResourceId) -> bool:
        return self.control.ask(Question(caller, action, place)).allowed
