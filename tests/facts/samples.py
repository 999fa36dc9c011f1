"""One change of every type, in an order in which they are possible."""

from headgate.facts import changes as c
from headgate.facts.ids import GroupId, PrincipalId, RequestId, ResourceId, RunId, TokenId

ROOT, PROJECT, LAKE, RAW = ResourceId("o"), ResourceId("p"), ResourceId("l"), ResourceId("d1")
TABLE, PORT, TEAM, PIPELINE = ResourceId("t1"), ResourceId("op1"), ResourceId("team1"), ResourceId("q1")
ACCESS, OLD_ACCESS, REQUEST = ResourceId("a1"), ResourceId("a2"), ResourceId("c1")
ANNA, BEN, ROBOT = PrincipalId("u1"), PrincipalId("u2"), PrincipalId("s1")
ALL, CREW = GroupId("All"), GroupId("g1")
TOKEN, RUN, ASKED = TokenId("k1"), RunId("n1"), RequestId("r1")
RELATIONS = {"outputs": (c.Edge(TABLE), c.Edge(RAW, enabled=False, name="s")), "inputs": ()}

SAMPLES: tuple[c.Change, ...] = (
    c.OrganizationCreated(ROOT, "nekt", "abc"),
    c.GroupCreated(ALL, built_in=True),
    c.GroupCreated(CREW, attributes={"managed_by": ("directory",)}),
    c.PrincipalAdded(ANNA, "user", {"domain": ("example.org",)}),
    c.PrincipalAdded(BEN, "user"),
    c.PrincipalAdded(ROBOT, "service_principal", {"scope": ("team",)}),
    c.PrincipalExpires(BEN, 77.0),
    c.MemberAdded(CREW, ANNA),
    c.MemberAdded(CREW, BEN),
    c.MemberRemoved(CREW, BEN),
    c.ResourceCreated(PROJECT, "project", ROOT, "default"),
    c.ResourceCreated(TEAM, "team", ROOT, "the team", ANNA),
    c.ResourceCreated(LAKE, "lake", PROJECT, "lake"),
    c.ResourceCreated(RAW, "database", LAKE, "raw", None, {"owner": (c.Edge(TEAM),)}),
    c.ResourceCreated(TABLE, "table", RAW, "flights", ANNA, {}, {"branch": ("main", "dev")}),
    c.ResourceCreated(PORT, "output_port", TEAM, "port", ANNA, {"tables": (c.Edge(TABLE),)}),
    c.ResourceCreated(PIPELINE, "query", PROJECT, "delays", ANNA),
    c.GovernedBy(PROJECT, "nekt", "abc"),
    c.ModelUpgraded("nekt", "abd"),
    c.HomeModelChanged("onehouse", "other"),
    c.HomeModelChanged("nekt", "abc"),
    c.ModelInstalled("nekt", "abc", 3, shipped=True),
    c.ModelInstalled("harbour", "one", 1),
    c.ModelInstalled("harbour", "two", 2),
    c.ModelRemoved("harbour"),
    c.SettingChanged(PROJECT, "plan", "growth"),
    c.ResourceRenamed(TABLE, RAW, "vols"),
    c.RelationsSet(PIPELINE, RELATIONS),
    c.AttributesSet(RAW, {"published_branches": ("main",)}),
    c.RunAsSet(PIPELINE, ANNA),
    c.TokenIssued(TokenId("k2"), ANNA),
    c.TokenIssued(TOKEN, ROBOT, 12.5, (TABLE,), ("table.select",), PROJECT, PROJECT),
    c.TokenRevoked(TokenId("k2")),
    c.CustomRoleDefined("steward", ("editor", "viewer")),
    c.CustomRoleDefined("nobody", ()),
    c.CustomRoleDeleted("nobody"),
    c.RoleAssigned(CREW, "viewer", TABLE, "nekt", ANNA, 99.0, 1.0, "because"),
    c.RoleAssigned(ANNA, "owner", ROOT, "nekt"),
    c.RoleAssigned(BEN, "viewer", RAW, "nekt"),
    c.RoleRevoked(BEN, "viewer", RAW),
    c.AccessRequested(ACCESS, PORT, TEAM, ANNA),
    c.AccessApproved(ACCESS, 5.0, None),
    c.RoleAssigned(TEAM, "consumer", PORT, "datamesh", ANNA, None, 5.0, ACCESS),
    c.AccessRequested(OLD_ACCESS, PORT, BEN),
    c.AccessEnded(OLD_ACCESS, "rejected"),
    c.ChangeRequested(REQUEST, PORT, BEN),
    c.ChangeDecided(REQUEST, "approved"),
    c.RequestFiled(ASKED, BEN, "table.select", TABLE),
    c.RequestFiled(RequestId("r2"), BEN, "table.select", None),
    c.RequestDecided(RequestId("r2"), "rejected"),
    c.RunStarted(RUN, PIPELINE, ANNA),
    c.RunStarted(RunId("n2"), PIPELINE, ANNA),
    c.RunEnded(RunId("n2"), "failed"),
    c.AccessDeleted(OLD_ACCESS),
    c.ResourceCreated(ResourceId("t2"), "table", RAW, "gone"),
    c.ResourceDeleted(ResourceId("t2")),
    c.GroupCreated(GroupId("g2")),
    c.GroupDeleted(GroupId("g2")),
    c.PrincipalAdded(PrincipalId("u3"), "user"),
    c.PrincipalRemoved(PrincipalId("u3")),
)
