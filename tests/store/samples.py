"""One change of every type, and drafts made of them."""

from headgate.control.ports import DocumentPut, Draft, Pointer
from headgate.facts import changes as c
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, RunId, TokenId

ANNA, ALL = PrincipalId("u1"), GroupId("g1")
LAKE, TABLE = ResourceId("r1"), ResourceId("r2")
RELATIONS = {"outputs": (c.Edge(TABLE), c.Edge(LAKE, enabled=False, name="s")), "inputs": ()}

SAMPLES: tuple[c.Change, ...] = (
    c.OrganizationCreated(ResourceId("o"), "nekt", "abc"),
    c.PrincipalAdded(ANNA, "user"),
    c.PrincipalRemoved(ANNA),
    c.GroupCreated(ALL, built_in=True),
    c.MemberAdded(ALL, ANNA),
    c.MemberRemoved(ALL, ANNA),
    c.TokenIssued(TokenId("t1"), ANNA, ends=12.5),
    c.TokenRevoked(TokenId("t1")),
    c.ResourceCreated(TABLE, "table", LAKE, "flights", ANNA, RELATIONS),
    c.ResourceRenamed(TABLE, LAKE, "vols"),
    c.ResourceDeleted(TABLE),
    c.RelationsSet(TABLE, RELATIONS),
    c.RunAsSet(TABLE, ANNA),
    c.RoleAssigned(ALL, "read", TABLE, "nekt", ANNA, 99.0),
    c.RoleRevoked(ANNA, "read", TABLE),
    c.RunStarted(RunId("n1"), TABLE, ANNA),
    c.RunEnded(RunId("n1"), "failed"),
)


def created(number: int) -> Draft:
    """A draft that creates table `number` with a pointer and a document."""
    table = ResourceId(f"t{number}")
    return Draft(
        at=float(number),
        actor=ANNA,
        command="create_table",
        changes=(c.ResourceCreated(table, "table", LAKE, f"name{number}", ANNA),),
        documents=(DocumentPut("table", table, {"comment": f"number {number}"}),),
        pointers=(Pointer(table, f"file:///w/{number}"),),
    )


def deleted(number: int) -> Draft:
    """A draft that deletes what `created` made."""
    return Draft(float(number), ANNA, "drop_table", (c.ResourceDeleted(ResourceId(f"t{number}")),))
