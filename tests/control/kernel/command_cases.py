"""Commands that are refused, each with its error, and commands that are accepted; each has one sentence and one line."""

from collections.abc import Mapping
from dataclasses import replace

from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.catalog.tables import CreateTable, DropDatabase, DropTable, RenameTable
from headgate.control.connections.commands import CreateConnection, DeleteConnection, Folder
from headgate.control.identity.groups import ChangeMembership, CreateGroup, RenameGroup
from headgate.control.identity.principals import AddPrincipal, RemovePrincipal
from headgate.control.identity.tokens import IssueToken, RevokeToken
from headgate.control.kernel.command import Command, PermissionDeniedError
from headgate.control.kernel.errors import (
    AlreadyExistsError,
    CallerGoneError,
    CommandError,
    InvalidError,
    NotEmptyError,
    NotFoundError,
)
from headgate.control.kernel.ports import Pointer
from headgate.control.kernel.run_queue import RunRow
from headgate.control.organizations.commands import CreateOrganization
from headgate.control.pipelines.commands import DeletePipeline, SavePipeline
from headgate.control.pipelines.runs import EndRun, QueueRun, StartRun
from headgate.control.resources.commands import CreateResource
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    Change,
    PrincipalRemoved,
    Relations,
    ResourceDeleted,
    RunStarted,
    TokenIssued,
)
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, RunId, TokenId
from tests.fakes.small_organization import (
    ADMIN,
    ALL,
    CREW,
    DELAYS,
    DELAYS_RELATIONS,
    FLIGHTS,
    LAKE,
    LOAD,
    LOAD_RELATIONS,
    MEMBER,
    NEKT,
    NOW,
    OTHER,
    OWNER,
    PLACE,
    PLANES,
    PROJECT,
    RAW,
    ROOT,
    SALARIES,
    SECRET,
    STRANGER,
    assigned,
    edges,
)

NEW = ResourceId("new")
NEWCOMER = PrincipalId("newcomer")
TOKEN, RUN = TokenId("token"), RunId("run")
EDITOR = assigned(MEMBER, "editor", RAW)
MANAGER = assigned(MEMBER, "manager", RAW)
LENT = assigned(MEMBER, "connection_user", PLACE)
ADMINS_RUN = RunStarted(RUN, LOAD, ADMIN)
AS_RUN = Caller(ADMIN, run=RUN)
QUEUED = RunRow(RUN, LOAD, "queued", "manual", OWNER, 1.0, 1.0)
RUNNING = replace(QUEUED, state="running", attempt=1, worker="w", lease=2.0)


def new_table(title: str, database: ResourceId = RAW, id: ResourceId = NEW) -> CreateTable:
    return CreateTable(database, id, title, Pointer(id, f"file:///w/{title}"))


def new_pipeline(
    relations: Relations, kind: str = "query", pipeline: ResourceId = NEW, title: str = "new"
) -> SavePipeline:
    return SavePipeline(pipeline, PROJECT, kind, title, relations, {})


def new_token(principal: PrincipalId, ends: float | None = None, id: TokenId = TOKEN) -> IssueToken:
    return IssueToken(id, "secret", principal, "", ends)


Row = tuple[tuple[Change, ...], Caller | PrincipalId | None, Command, type[CommandError]]

REFUSALS: Mapping[str, Row] = {
    # Assignments
    "a member assigns no role": ((EDITOR,), MEMBER, AssignRole(OTHER, "viewer", RAW), PermissionDeniedError),
    "a manager does not assign manager": ((MANAGER,), MEMBER, AssignRole(OTHER, "manager", RAW), PermissionDeniedError),
    "a manager does not revoke manager": (
        (MANAGER, assigned(OTHER, "manager", RAW)),
        MEMBER,
        RevokeRole(OTHER, "manager", RAW),
        PermissionDeniedError,
    ),
    "a table's manager assigns nothing on its database": (
        (assigned(MEMBER, "manager", FLIGHTS),),
        MEMBER,
        AssignRole(OTHER, "viewer", RAW),
        PermissionDeniedError,
    ),
    "an admin does not assign owner": ((), ADMIN, AssignRole(MEMBER, "owner", ROOT), PermissionDeniedError),
    "an admin does not revoke owner": ((), ADMIN, RevokeRole(OWNER, "owner", ROOT), PermissionDeniedError),
    "a group holds no organization role": ((), OWNER, AssignRole(ALL, "admin", ROOT), PermissionDeniedError),
    "a principal outside the organization gets no role": (
        (),
        OWNER,
        AssignRole(STRANGER, "viewer", RAW),
        PermissionDeniedError,
    ),
    "a role needs a type that the model allows": ((), OWNER, AssignRole(MEMBER, "owner", RAW), PermissionDeniedError),
    "pipelines take no assignments": ((), OWNER, AssignRole(MEMBER, "viewer", LOAD), PermissionDeniedError),
    "a role has to exist": ((), OWNER, AssignRole(MEMBER, "lord", RAW), InvalidError),
    "a subject has to exist": ((), OWNER, AssignRole(NEWCOMER, "viewer", RAW), NotFoundError),
    "a revoked role has to be assigned": ((), OWNER, RevokeRole(MEMBER, "viewer", RAW), NotFoundError),
    "an assignment does not end before it begins": ((), OWNER, AssignRole(MEMBER, "viewer", RAW, NOW), InvalidError),
    "the last owner cannot revoke the role": ((), OWNER, RevokeRole(OWNER, "owner", ROOT), InvalidError),
    "the last owner without an end cannot revoke the role": (
        (assigned(ADMIN, "owner", ROOT, NOW + 1),),
        OWNER,
        RevokeRole(OWNER, "owner", ROOT),
        InvalidError,
    ),
    "the last owner's role gets no end": ((), OWNER, AssignRole(OWNER, "owner", ROOT, NOW + 1), InvalidError),
    "nothing is assigned on a hidden table": ((), MEMBER, AssignRole(MEMBER, "viewer", SALARIES), NotFoundError),
    # Users and groups
    "a member adds no user": ((), MEMBER, AddPrincipal(NEWCOMER, "n", "member"), PermissionDeniedError),
    "an admin adds no owner": ((), ADMIN, AddPrincipal(NEWCOMER, "n", "owner"), PermissionDeniedError),
    "a new user gets only a role of the organization": (
        (),
        ADMIN,
        AddPrincipal(NEWCOMER, "n", "viewer"),
        PermissionDeniedError,
    ),
    "a new user gets only a role that exists": ((), None, AddPrincipal(NEWCOMER, "n", "lord"), InvalidError),
    "a user is not added twice": ((), ADMIN, AddPrincipal(MEMBER, "m", "member"), AlreadyExistsError),
    "a new user has no group's id": ((), ADMIN, AddPrincipal(PrincipalId(ALL), "n", "member"), AlreadyExistsError),
    "a member removes no user": ((), MEMBER, RemovePrincipal(OTHER), PermissionDeniedError),
    "an admin removes no owner": ((), ADMIN, RemovePrincipal(OWNER), PermissionDeniedError),
    "an owner does not remove themselves": ((), OWNER, RemovePrincipal(OWNER), InvalidError),
    "a removed user has to exist": ((), OWNER, RemovePrincipal(NEWCOMER), NotFoundError),
    "an owner with an end does not remove the last owner without one": (
        (assigned(ADMIN, "owner", ROOT, NOW + 1),),
        ADMIN,
        RemovePrincipal(OWNER),
        InvalidError,
    ),
    "a member creates no group": ((), MEMBER, CreateGroup(GroupId("new"), "new"), PermissionDeniedError),
    "a new group cannot have a user's id": ((), ADMIN, CreateGroup(GroupId(OWNER), "new"), AlreadyExistsError),
    "a hidden group counts as missing": ((), MEMBER, ChangeMembership(CREW, MEMBER, member=True), NotFoundError),
    "no owner changes members of All": ((), OWNER, ChangeMembership(ALL, MEMBER, member=False), PermissionDeniedError),
    "an owner does not rename All": ((), OWNER, RenameGroup(ALL, "everybody"), PermissionDeniedError),
    "a group has to exist": ((), OWNER, RenameGroup(GroupId("gone"), "new"), NotFoundError),
    "a new member of a group has to exist": (
        (),
        OWNER,
        ChangeMembership(CREW, NEWCOMER, member=True),
        PermissionDeniedError,
    ),
    # Tokens
    "a member creates no token of another user": ((), MEMBER, new_token(OTHER), PermissionDeniedError),
    "an admin creates no token of an owner": ((), ADMIN, new_token(OWNER), PermissionDeniedError),
    "a run creates no token": ((ADMINS_RUN,), AS_RUN, new_token(ADMIN), InvalidError),
    "a token does not end before it begins": ((), MEMBER, new_token(MEMBER, NOW), InvalidError),
    "a new token needs a new id": ((TokenIssued(TOKEN, OWNER),), MEMBER, new_token(MEMBER), AlreadyExistsError),
    "a token with an end creates no token without an end": (
        (TokenIssued(TOKEN, MEMBER, NOW + 1),),
        Caller(MEMBER, TOKEN),
        new_token(MEMBER, id=TokenId("longer")),
        InvalidError,
    ),
    "a member revokes no token of another user": (
        (TokenIssued(TOKEN, OWNER),),
        MEMBER,
        RevokeToken(TOKEN),
        PermissionDeniedError,
    ),
    "an admin revokes no token of an owner": (
        (TokenIssued(TOKEN, OWNER),),
        ADMIN,
        RevokeToken(TOKEN),
        PermissionDeniedError,
    ),
    "a revoked token has to exist": ((), OWNER, RevokeToken(TOKEN), NotFoundError),
    "a token of a removed user has no caller": (
        (TokenIssued(TOKEN, MEMBER), PrincipalRemoved(MEMBER)),
        Caller(MEMBER, TOKEN),
        new_table("t"),
        CallerGoneError,
    ),
    "a user with another user's token is no caller": (
        (TokenIssued(TOKEN, OWNER),),
        Caller(MEMBER, TOKEN),
        new_table("t"),
        CallerGoneError,
    ),
    # Databases and tables
    "a manager creates no database": (
        (MANAGER,),
        MEMBER,
        CreateResource(NEW, "database", LAKE, "new"),
        PermissionDeniedError,
    ),
    "a viewer creates no table": ((assigned(MEMBER, "viewer", RAW),), MEMBER, new_table("new"), PermissionDeniedError),
    "a table's editor creates no table": (
        (assigned(MEMBER, "editor", FLIGHTS),),
        MEMBER,
        new_table("new"),
        PermissionDeniedError,
    ),
    "a new table needs a free name": ((), OWNER, new_table("flights"), AlreadyExistsError),
    "a new table needs a new id": ((EDITOR,), MEMBER, new_table("new", id=SALARIES), AlreadyExistsError),
    "no table has the organization's id": ((EDITOR,), MEMBER, new_table("new", id=ROOT), AlreadyExistsError),
    "no table is created in a hidden database": ((EDITOR,), MEMBER, new_table("new", SECRET), NotFoundError),
    "no table is created in a table": ((), OWNER, new_table("new", FLIGHTS), PermissionDeniedError),
    "an editor drops no table": ((EDITOR,), MEMBER, DropTable(FLIGHTS), PermissionDeniedError),
    "no hidden table is dropped": ((MANAGER,), MEMBER, DropTable(SALARIES), NotFoundError),
    "no missing table is dropped": ((), OWNER, DropTable(NEW), NotFoundError),
    "a database with tables is not dropped": ((), OWNER, DropDatabase(RAW), NotEmptyError),
    "an editor renames no table": ((EDITOR,), MEMBER, RenameTable(FLIGHTS, RAW, "new"), PermissionDeniedError),
    "no table moves into a hidden database": ((MANAGER,), MEMBER, RenameTable(FLIGHTS, SECRET, "new"), NotFoundError),
    "no table moves into a database of viewers": (
        (MANAGER, assigned(MEMBER, "viewer", SECRET)),
        MEMBER,
        RenameTable(FLIGHTS, SECRET, "new"),
        PermissionDeniedError,
    ),
    # Connections
    "a member creates no connection": (
        (EDITOR,),
        MEMBER,
        CreateConnection(NEW, PROJECT, "new", Folder("/data")),
        PermissionDeniedError,
    ),
    "a connection's folder is absolute": (
        (),
        ADMIN,
        CreateConnection(NEW, PROJECT, "new", Folder("data")),
        InvalidError,
    ),
    "a user of a connection does not delete it": ((LENT,), MEMBER, DeleteConnection(PLACE), PermissionDeniedError),
    "no hidden connection is deleted": ((), MEMBER, DeleteConnection(PLACE), NotFoundError),
    # Pipelines and runs
    "a viewer creates no query": (
        (assigned(MEMBER, "viewer", RAW),),
        MEMBER,
        new_pipeline(DELAYS_RELATIONS),
        PermissionDeniedError,
    ),
    "a query needs a layer that it writes to": (
        (),
        OWNER,
        new_pipeline({"inputs": edges(FLIGHTS)}),
        PermissionDeniedError,
    ),
    "a query reads only tables that its creator may edit": (
        (EDITOR, assigned(MEMBER, "viewer", SECRET)),
        MEMBER,
        new_pipeline({**DELAYS_RELATIONS, "inputs": edges(SALARIES)}),
        PermissionDeniedError,
    ),
    "an editor of a query's tables cannot let it write a new table": (
        (assigned(MEMBER, "editor", FLIGHTS), assigned(MEMBER, "editor", PLANES)),
        MEMBER,
        new_pipeline({**DELAYS_RELATIONS, "outputs": edges(RAW)}, "query", DELAYS),
        PermissionDeniedError,
    ),
    "an editor of a query's tables cannot let it read another table": (
        (EDITOR, assigned(MEMBER, "viewer", SALARIES)),
        MEMBER,
        new_pipeline({**DELAYS_RELATIONS, "inputs": edges(SALARIES)}, "query", DELAYS),
        PermissionDeniedError,
    ),
    "a query names no hidden table": (
        (EDITOR,),
        MEMBER,
        new_pipeline({**DELAYS_RELATIONS, "inputs": edges(SALARIES)}),
        NotFoundError,
    ),
    "a query names no missing table": (
        (EDITOR,),
        MEMBER,
        new_pipeline({**DELAYS_RELATIONS, "inputs": edges(NEW)}),
        NotFoundError,
    ),
    "no pipeline reads a pipeline": (
        (),
        OWNER,
        new_pipeline({**DELAYS_RELATIONS, "inputs": edges(DELAYS)}),
        NotFoundError,
    ),
    "a relation has to exist": ((), OWNER, new_pipeline({**DELAYS_RELATIONS, "friends": edges(FLIGHTS)}), InvalidError),
    "a source needs the use of its connection": (
        (EDITOR,),
        MEMBER,
        new_pipeline(LOAD_RELATIONS, "source"),
        NotFoundError,
    ),
    "an editor does not change a source without the use of its connection": (
        (EDITOR,),
        MEMBER,
        new_pipeline(LOAD_RELATIONS, "source", LOAD),
        NotFoundError,
    ),
    "a pipeline does not change its kind": ((), OWNER, new_pipeline(DELAYS_RELATIONS, "query", LOAD), NotFoundError),
    "a pipeline is of a known kind": ((), OWNER, new_pipeline(DELAYS_RELATIONS, "dream"), InvalidError),
    "a pipeline is not saved without a caller": ((), None, new_pipeline(DELAYS_RELATIONS), InvalidError),
    "a new pipeline needs a free name": ((), OWNER, new_pipeline(DELAYS_RELATIONS, title="load"), AlreadyExistsError),
    "an editor deletes no pipeline": ((EDITOR,), MEMBER, DeletePipeline(DELAYS), PermissionDeniedError),
    "a viewer starts no run": (
        (assigned(MEMBER, "viewer", RAW),),
        MEMBER,
        QueueRun(RUN, DELAYS),
        PermissionDeniedError,
    ),
    "no hidden pipeline is run": ((), MEMBER, QueueRun(RUN, DELAYS), NotFoundError),
    "one table without access hides the pipeline": (
        (assigned(MEMBER, "manager", FLIGHTS),),
        MEMBER,
        QueueRun(RUN, DELAYS),
        NotFoundError,
    ),
    "a definition is not replaced during a run": (
        (RunStarted(RunId("first"), DELAYS, ADMIN),),
        OWNER,
        new_pipeline(DELAYS_RELATIONS, "query", DELAYS),
        InvalidError,
    ),
    "a new run needs a new id": ((ADMINS_RUN,), OWNER, QueueRun(RUN, DELAYS), AlreadyExistsError),
    "only the deployment begins a run": ((), OWNER, StartRun(QUEUED, "w", 2.0, "secret"), InvalidError),
    "only the deployment ends a run": ((ADMINS_RUN,), OWNER, EndRun(RUNNING, "failed"), InvalidError),
    "an ended run is no caller": ((), AS_RUN, new_table("flights"), CallerGoneError),
    "a run acts only for its run-as principal": (
        (ADMINS_RUN,),
        Caller(OWNER, run=RUN),
        DropTable(PLANES),
        CallerGoneError,
    ),
    "a run creates only the declared table": ((ADMINS_RUN,), AS_RUN, new_table("more"), InvalidError),
    "a run creates no table in another database": ((ADMINS_RUN,), AS_RUN, new_table("flights", SECRET), NotFoundError),
    "a run drops nothing": ((ADMINS_RUN,), AS_RUN, DropTable(FLIGHTS), PermissionDeniedError),
    "a run renames nothing": ((ADMINS_RUN,), AS_RUN, RenameTable(FLIGHTS, RAW, "new"), PermissionDeniedError),
    "a run assigns no role": ((ADMINS_RUN,), AS_RUN, AssignRole(MEMBER, "viewer", FLIGHTS), PermissionDeniedError),
    "a run adds no user": ((ADMINS_RUN,), AS_RUN, AddPrincipal(NEWCOMER, "n", "member"), PermissionDeniedError),
    "a run saves no pipeline": (
        (ADMINS_RUN,),
        AS_RUN,
        new_pipeline({"output_layers": edges(RAW)}, "source"),
        PermissionDeniedError,
    ),
    "a run starts no run": ((ADMINS_RUN,), AS_RUN, QueueRun(RunId("second"), DELAYS), NotFoundError),
    # The organization
    "only the deployment creates an organization": (
        (),
        OWNER,
        CreateOrganization(OWNER, "o", NEKT),
        InvalidError,
    ),
    "a log has only one organization": ((), None, CreateOrganization(OWNER, "o", NEKT), AlreadyExistsError),
}


ALLOWED: Mapping[str, tuple[tuple[Change, ...], Caller | PrincipalId | None, Command]] = {
    "a manager assigns editor": ((MANAGER,), MEMBER, AssignRole(OTHER, "editor", FLIGHTS)),
    "a manager assigns a role to a group": ((MANAGER,), MEMBER, AssignRole(ALL, "viewer", RAW)),
    "an admin assigns manager": ((), ADMIN, AssignRole(OTHER, "manager", RAW)),
    "an owner assigns owner": ((), OWNER, AssignRole(ADMIN, "owner", ROOT)),
    "an owner revokes their role if there is another owner": (
        (assigned(ADMIN, "owner", ROOT),),
        OWNER,
        RevokeRole(OWNER, "owner", ROOT),
    ),
    "an admin adds a member": ((), ADMIN, AddPrincipal(NEWCOMER, "n", "member")),
    "an admin removes a member": ((), ADMIN, RemovePrincipal(MEMBER)),
    "an owner removes an owner": ((assigned(ADMIN, "owner", ROOT),), OWNER, RemovePrincipal(ADMIN)),
    "an admin changes a group": ((), ADMIN, ChangeMembership(CREW, MEMBER, member=True)),
    "an admin renames a group": ((), ADMIN, RenameGroup(CREW, "new")),
    "a member creates their own token": ((), MEMBER, new_token(MEMBER)),
    "an admin creates a token of a member": ((), ADMIN, new_token(MEMBER)),
    "a token with an end creates a token with an earlier end": (
        (TokenIssued(TOKEN, MEMBER, NOW + 2),),
        Caller(MEMBER, TOKEN),
        new_token(MEMBER, NOW + 1, TokenId("shorter")),
    ),
    "a member revokes their own token": ((TokenIssued(TOKEN, MEMBER),), MEMBER, RevokeToken(TOKEN)),
    "an editor creates a table": ((EDITOR,), MEMBER, new_table("new")),
    "a manager drops a table": ((MANAGER,), MEMBER, DropTable(FLIGHTS)),
    "a manager renames a table": ((MANAGER,), MEMBER, RenameTable(FLIGHTS, RAW, "new")),
    "an editor creates a query": ((EDITOR,), MEMBER, new_pipeline(DELAYS_RELATIONS)),
    "an editor that may use the connection creates a source": (
        (EDITOR, LENT),
        MEMBER,
        new_pipeline(LOAD_RELATIONS, "source"),
    ),
    "an editor changes a query": ((EDITOR,), MEMBER, new_pipeline(DELAYS_RELATIONS, "query", DELAYS)),
    "an editor of every table that a query writes and reads changes it": (
        (assigned(MEMBER, "editor", FLIGHTS), assigned(MEMBER, "editor", PLANES)),
        MEMBER,
        new_pipeline(DELAYS_RELATIONS, "query", DELAYS),
    ),
    "an editor runs a source without the use of its connection": ((EDITOR,), MEMBER, QueueRun(RUN, LOAD)),
    "an owner deletes a pipeline whose table was deleted": ((ResourceDeleted(FLIGHTS),), OWNER, DeletePipeline(DELAYS)),
}
