"""The promises of docs/semantics.md that are about decisions, over generated worlds. Each docstring is a heading there."""

import functools
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st
from immutables import Map

from headgate.control.kernel.names import suppose
from headgate.decision.evaluator import Reference
from headgate.decision.explain.explain import explain
from headgate.decision.reference import decide, is_discoverable
from headgate.decision.run_scope import is_declared
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    PrincipalAdded,
    PrincipalRemoved,
    RelationsSet,
    ResourceCreated,
    ResourceDeleted,
    ResourceRenamed,
    RoleAssigned,
    RoleRevoked,
    RunEnded,
    TokenIssued,
    TokenRevoked,
)
from headgate.facts.fold import apply, fold
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Snapshot
from tests.fakes.generated_worlds import (
    ASSIGNMENTS,
    BY_THEMSELVES,
    CALLERS,
    DATA,
    DATABASES,
    PIPELINES,
    PRINCIPALS,
    RESOURCES,
    RUN,
    TOKEN,
    WORLDS,
    few,
    questions,
)
from tests.fakes.nekt_oracle import LEVELS, level, organization_roles
from tests.fakes.small_organization import ACTIONS, MEMBER, MODELS, NEKT, NOW, OWNER, allows

QUESTIONS = questions(CALLERS)
OWN_QUESTIONS = questions(BY_THEMSELVES)
SEVERAL = st.lists(QUESTIONS, min_size=6, max_size=10)
_LEVEL_OF = {
    "describe": 1, "select": 1, "read": 1, "see_runs": 1,
    "alter": 2, "change_description": 2, "create_table": 2, "create_view": 2, "create_volume": 2, "insert": 2,
    "update": 2, "delete_rows": 2, "edit": 2, "activate": 2, "deactivate": 2, "trigger": 2,
    "drop": 3, "delete": 3,
}  # fmt: skip


def _allowed(facts: Snapshot, question: Question) -> bool:
    return decide(MODELS, facts, question, NOW).allowed


@few
@given(WORLDS, SEVERAL)
def test_promise_1_revoking_the_assignments_that_an_allow_names_denies(
    facts: Snapshot, several: list[Question]
) -> None:
    """Every allow names the assignments that it depends on: without them the decision is a deny."""
    for question in several:
        paths = decide(MODELS, facts, question, NOW).paths
        assert all((each.assigned_role, each.assigned_on, "") in facts.assignments[each.subject] for each in paths)
        taken = (RoleRevoked(each.subject, each.assigned_role, each.assigned_on) for each in paths)
        assert not _allowed(fold(facts, taken, 2), question)


@few
@given(WORLDS, QUESTIONS)
def test_promise_1_facts_without_assignments_allow_nothing(facts: Snapshot, question: Question) -> None:
    """Without assignments nothing is allowed, and with empty facts nothing is allowed."""
    assert not _allowed(facts._replace(assignments=Map()), question)
    assert not _allowed(Snapshot(), question)


@few
@given(WORLDS, st.sampled_from(PRINCIPALS))
def test_promise_1_data_and_pipelines_follow_the_levels(facts: Snapshot, who: PrincipalId) -> None:
    """On data and pipelines, the decision on every action follows the levels of the model's text."""
    for id in (*DATABASES, *DATA, *PIPELINES):
        resource = facts.resources[id]
        reached = level(facts, who, resource)
        for name, action in ACTIONS.items():
            needed = _LEVEL_OF.get(name.partition(".")[2])
            if resource.type in action.on and needed is not None and NEKT.name in action.names:
                assert allows(facts, who, name, id) == (reached >= needed), (name, id, LEVELS[reached])


@few
@given(WORLDS, st.sampled_from(DATA), st.sampled_from(PRINCIPALS), st.sampled_from(PRINCIPALS))
def test_promise_1_a_principal_assigns_no_more_than_the_model_allows(
    facts: Snapshot, place: ResourceId, who: PrincipalId, whom: PrincipalId
) -> None:
    """Managers assign and revoke levels up to editor, owners and admins every level; only members of the organization receive one."""
    powers = organization_roles(facts, who) & {"owner", "admin"}
    for role in LEVELS[1:]:
        may = bool(powers) or (
            role != "manager" and level(facts, who, facts.resources[place]) == LEVELS.index("manager")
        )
        add = Question(Caller(who), "assignment.add", place, role=role, subject=whom)
        assert _allowed(facts, add) == (may and bool(organization_roles(facts, whom)))
        assert _allowed(facts, replace(add, action="assignment.remove")) == may


@few
@given(WORLDS, SEVERAL, ASSIGNMENTS)
def test_promise_1_another_assignment_never_turns_an_allow_into_a_deny(
    facts: Snapshot, several: list[Question], more: RoleAssigned
) -> None:
    """An additional assignment never turns an allow into a deny."""
    assume((more.role, more.resource, "") not in facts.assignments.get(more.subject, {}))
    after = apply(facts, more)

    for question in several:
        assert _allowed(after, question) or not _allowed(facts, question)


def _members(facts: Snapshot) -> list[Caller]:
    return [Caller(each) for each in PRINCIPALS if organization_roles(facts, each) == {"member"}]


@few
@given(WORLDS, st.sampled_from(PIPELINES))
def test_promise_2_the_weakest_table_decides(facts: Snapshot, id: ResourceId) -> None:
    """A member may see a pipeline exactly if every table and volume that it names exists and the member may see it."""
    pipeline = facts.resources[id]
    relations = ("outputs",) if pipeline.type == "source" else ("inputs", "outputs")
    touched = {edge.target for relation in relations for edge in pipeline.edges(relation)}
    assume(touched)

    for caller in _members(facts):
        each = [facts.resources.get(target) for target in touched]
        seen = all(one and one.id in DATA and allows(facts, caller, f"{one.type}.describe", one.id) for one in each)
        assert allows(facts, caller, f"{pipeline.type}.describe", id) == seen


@few
@given(WORLDS, st.sampled_from(PIPELINES), QUESTIONS)
def test_promise_2_a_disabled_stream_does_not_count(facts: Snapshot, id: ResourceId, question: Question) -> None:
    """A disabled stream does not count: deleting it changes no decision if the pipeline has an enabled one."""
    pipeline = facts.resources[id]
    counting = ("inputs", "outputs") if pipeline.type == "query" else ("outputs",)
    assume(any(pipeline.edges(relation) for relation in counting))
    enabled = {relation: pipeline.edges(relation) for relation in pipeline.relations}

    after = apply(facts, RelationsSet(id, enabled))
    assert decide(MODELS, after, question, NOW) == decide(MODELS, facts, question, NOW)


@few
@given(WORLDS, st.sampled_from(PIPELINES))
def test_promise_2_an_empty_pipeline_is_closed_to_every_member(facts: Snapshot, id: ResourceId) -> None:
    """A pipeline that names no table and no layer is closed to every member."""
    after = apply(facts, RelationsSet(id, {}))

    assert not any(is_discoverable(MODELS, after, caller, id, NOW) for caller in _members(after))


@few
@given(WORLDS, st.sampled_from(PIPELINES), st.sampled_from(DATABASES))
def test_promise_2_the_layers_decide_if_every_stream_is_disabled(
    facts: Snapshot, id: ResourceId, layer: ResourceId
) -> None:
    """On a pipeline whose streams are all disabled, a member's level is that of its output layers, even of disabled ones."""
    edges = facts.resources[id].relations["output_layers"]
    off = tuple(replace(edge, target=layer, enabled=False) for edge in edges)
    assume(off)
    after = apply(facts, RelationsSet(id, {"output_layers": off}))

    for caller in _members(after):
        kind = after.resources[id].type
        assert allows(after, caller, f"{kind}.edit", id) == allows(after, caller, "database.alter", layer)


@few
@given(WORLDS, st.sampled_from(PIPELINES), st.sampled_from((*DATA, *DATABASES)), st.sampled_from(PRINCIPALS))
def test_promise_2_a_drop_never_opens_a_pipeline(
    facts: Snapshot, id: ResourceId, gone: ResourceId, who: PrincipalId
) -> None:
    """Dropping a table or a database that a pipeline names never opens the pipeline to any principal."""
    after = apply(facts, ResourceDeleted(gone))

    kind = facts.resources[id].type
    for action in (name for name in ACTIONS if name.startswith(f"{kind}.")):
        assert not allows(after, who, action, id) or allows(facts, who, action, id)


@few
@given(WORLDS, OWN_QUESTIONS)
def test_promise_3_a_token_never_does_more_than_its_principal(facts: Snapshot, question: Question) -> None:
    """A token may do what its principal may do now; another principal's token and an expired one may do nothing."""
    token = facts.tokens[TOKEN]
    by_token = replace(question, caller=replace(question.caller, token=TOKEN))
    alive = token.principal == question.caller.principal and (token.ends is None or token.ends > NOW)

    assert _allowed(facts, by_token) == (alive and _allowed(facts, question))


@few
@given(WORLDS, OWN_QUESTIONS)
def test_promise_3_a_token_ends_with_its_principal(facts: Snapshot, question: Question) -> None:
    """A token is invalid once it is revoked or its principal has left, even if the principal returns."""
    principal = facts.tokens[TOKEN].principal
    asked = replace(question, caller=Caller(principal, TOKEN))

    assert not _allowed(apply(facts, TokenRevoked(TOKEN)), asked)
    left = apply(facts, PrincipalRemoved(principal))
    assert not _allowed(left, asked)
    back = fold(left, (PrincipalAdded(principal, "user"), RoleAssigned(principal, "owner", RESOURCES[0], NEKT.name)), 2)
    assert not _allowed(back, asked)


@few
@given(WORLDS, QUESTIONS, st.data())
def test_promise_4_a_revoked_assignment_allows_nothing(
    facts: Snapshot, question: Question, data: st.DataObject
) -> None:
    """After a revoke no decision depends on the revoked assignment, and no deny has become an allow."""
    held = sorted((subject, *key) for subject, each in facts.assignments.items() for key in each)
    revoked = data.draw(st.sampled_from(held))

    after = decide(MODELS, apply(facts, RoleRevoked(*revoked)), question, NOW)
    assert revoked not in {(path.subject, path.assigned_role, path.assigned_on, path.reason) for path in after.paths}
    assert not after.allowed or _allowed(facts, question)


@few
@given(WORLDS, CALLERS, st.sampled_from((*DATABASES, *DATA)), st.sampled_from([*ACTIONS]))
def test_promise_5_a_hidden_and_a_missing_name_are_answered_alike(
    facts: Snapshot, caller: Caller, id: ResourceId, action: str
) -> None:
    """A question by name about a resource that the caller may not discover has the answer for a missing one."""
    names = facts.full_name(id)
    assume(not is_discoverable(MODELS, facts, caller, id, NOW))

    seen: list[object] = []
    for asked in (names, (*names[:-1], "missing")):
        would = suppose(Reference(MODELS, facts), asked)
        assert would is not None
        question = Question(caller, action, would.resource.id, role="viewer", subject=MEMBER)
        answer = explain(MODELS, would.answers.facts, question, NOW)
        missing = answer.decision.missing
        seen.append((answer.decision.allowed, missing and (missing.code, missing.roles), answer.fixes))
        assert not answer.discoverable
    # A volume's name in a question about a table counts as missing already; only the type of a real resource can differ.
    assert seen[0] == seen[1]


@few
@given(WORLDS, questions(st.builds(Caller, st.sampled_from(PRINCIPALS), st.none(), st.just(RUN))))
def test_promise_7_a_run_may_do_only_declared_actions_that_its_run_as_may_do(
    facts: Snapshot, question: Question
) -> None:
    """A run is allowed exactly what its pipeline declares and its run-as principal may do itself."""
    run = facts.runs[RUN]
    resource = facts.resources.get(question.resource)
    itself = replace(question, caller=Caller(question.caller.principal))

    may = question.caller.principal == run.run_as and _allowed(facts, itself)
    assert _allowed(facts, question) == (
        may and resource is not None and is_declared(facts, RUN, question.action, resource)
    )


@few
@given(WORLDS, st.sampled_from([*ACTIONS]), st.sampled_from(RESOURCES))
def test_promise_7_a_run_is_denied_every_resource_that_no_edge_names(
    facts: Snapshot, action: str, id: ResourceId
) -> None:
    """Not even an owner's run reaches a resource that no edge of its pipeline names, or any resource after its end."""
    run = facts.runs[RUN]
    owners = facts._replace(runs=facts.runs.set(RUN, replace(run, run_as=OWNER)))
    named = {edge.target for relation in facts.resources[run.pipeline].relations for edge in
             facts.resources[run.pipeline].edges(relation)}  # fmt: skip

    asked = Question(Caller(OWNER, run=RUN), action, id, role="viewer", subject=MEMBER)
    assert not _allowed(owners, asked) or id in named
    assert not _allowed(apply(owners, RunEnded(RUN, "succeeded")), asked)
    assert not _allowed(apply(owners, ResourceDeleted(run.pipeline)), asked)


@few
@given(WORLDS, st.text(max_size=20), st.sampled_from(RESOURCES))
def test_promise_8_an_unknown_action_is_denied(facts: Snapshot, action: str, id: ResourceId) -> None:
    """An action that is not in the vocabulary is denied to every principal, even an owner."""
    assume(action not in ACTIONS)

    assert not any(allows(facts, who, action, id) for who in PRINCIPALS)


@few
@given(WORLDS, st.sampled_from([*ACTIONS]), st.sampled_from(RESOURCES))
def test_promise_8_an_action_on_another_type_is_denied(facts: Snapshot, action: str, id: ResourceId) -> None:
    """An action on a resource type that does not have it is denied to every principal, even an owner."""
    assume(facts.resources[id].type not in ACTIONS[action].on)

    assert not any(allows(facts, who, action, id) for who in PRINCIPALS)


@few
@given(WORLDS, QUESTIONS, st.sampled_from(PRINCIPALS), st.sampled_from(RESOURCES))
def test_promise_8_an_unknown_role_gives_nothing(
    facts: Snapshot, question: Question, who: PrincipalId, place: ResourceId
) -> None:
    """An assignment of an unknown role, or on a type on which the model does not allow the role, grants nothing."""
    kind = facts.resources[place].type
    strange = [name for name, role in NEKT.roles.items() if kind not in role.on]
    after = fold(facts, (RoleAssigned(who, name, place, NEKT.name) for name in (*strange, "unheard")), facts.revision)

    assert decide(MODELS, after, question, NOW) == decide(MODELS, facts, question, NOW)


@few
@given(WORLDS, QUESTIONS)
def test_promise_10_an_explanation_agrees_with_the_decision(facts: Snapshot, question: Question) -> None:
    """An explanation contains the same decision as a check; a caller that may not discover the resource learns nothing more."""
    explained, decided = explain(MODELS, facts, question, NOW), decide(MODELS, facts, question, NOW)

    assert explained.decision.allowed == decided.allowed
    assert explained.decision == decided or not (explained.discoverable or decided.allowed)


@few
@given(WORLDS, CALLERS, st.sampled_from(RESOURCES))
def test_promise_10_a_resource_is_discoverable_if_an_action_on_it_is_allowed(
    facts: Snapshot, caller: Caller, id: ResourceId
) -> None:
    """A principal may discover a resource exactly if an action on it is allowed to the principal."""
    own = [name for name in ACTIONS if name.partition(".")[0] == facts.resources[id].type]

    assert is_discoverable(MODELS, facts, caller, id, NOW) == any(_allowed(facts, Question(caller, a, id)) for a in own)


@few
@given(WORLDS, QUESTIONS)
def test_promise_10_a_fix_allows_and_its_approvers_may_make_it(facts: Snapshot, question: Question) -> None:
    """Every fix turns the deny into an allow, a part of it does not, and each approver may make their assignment."""
    for fix in explain(MODELS, facts, question, NOW).fixes:
        made = [RoleAssigned(fix.subject, each.role, each.resource, NEKT.name) for each in fix.assignments]
        assert _allowed(functools.reduce(apply, made, facts), question)
        for left_out in made:
            less = functools.reduce(apply, [each for each in made if each != left_out], facts)
            assert not _allowed(less, question)
        for each in fix.assignments:
            assert each.approvers
            for who in each.approvers:
                give = Question(Caller(who), "assignment.add", each.resource, role=each.role, subject=fix.subject)
                assert _allowed(facts, give)


@few
@given(WORLDS, QUESTIONS)
def test_promise_5_a_caller_that_may_not_see_a_resource_gets_no_fix(facts: Snapshot, question: Question) -> None:
    """A caller that may not discover every resource of the question receives no fix and no approver."""
    concerned = [id for ids in question.on.values() for id in ids]
    if NEKT.roles_granting(question.action) or not concerned:
        concerned.append(question.resource)
    if not all(is_discoverable(MODELS, facts, question.caller, id, NOW) for id in concerned):
        explanation = explain(MODELS, facts, question, NOW)
        assert not explanation.discoverable
        assert explanation.fixes == ()


@few
@given(WORLDS, QUESTIONS, st.sampled_from(DATA), st.sampled_from(("new", "other")))
def test_promise_11_a_rename_changes_no_decision(
    facts: Snapshot, question: Question, id: ResourceId, name: str
) -> None:
    """A rename changes no decision: assignments and declarations refer to the id."""
    renamed = apply(facts, ResourceRenamed(id, facts.resources[id].parent, name))

    assert decide(MODELS, renamed, question, NOW) == decide(MODELS, facts, question, NOW)


@few
@given(WORLDS, CALLERS, st.sampled_from(DATA), st.sampled_from([*ACTIONS]))
def test_promise_11_a_reused_name_gives_no_former_rights(
    facts: Snapshot, caller: Caller, id: ResourceId, action: str
) -> None:
    """Decisions on a table with the name of a deleted one are those on any other new table in the database."""
    old, new = facts.resources[id], ResourceId("new")
    again = fold(facts, (ResourceDeleted(id), ResourceCreated(new, old.type, old.parent, old.name)), 2)
    fresh = fold(facts, (ResourceDeleted(id), ResourceCreated(new, old.type, old.parent, "fresh")), 2)

    question = Question(caller, action, new, role="viewer", subject=MEMBER)
    assert decide(MODELS, again, question, NOW) == decide(MODELS, fresh, question, NOW)
    assert not [path for path in decide(MODELS, again, question, NOW).paths if path.assigned_on == id]


@few
@given(WORLDS, QUESTIONS)
def test_promise_11_a_returning_principal_holds_nothing(facts: Snapshot, question: Question) -> None:
    """A principal that left and is added again holds none of its former roles, directly or through a chosen group."""
    principal = question.caller.principal
    back = fold(facts, (PrincipalRemoved(principal), PrincipalAdded(principal, "user")), 2)

    decision = decide(MODELS, back, question, NOW)
    assert {path.subject for path in decision.paths} <= {"All"}
    assert principal not in back.run_as.values()


@few
@given(WORLDS, SEVERAL, st.lists(st.sampled_from((*DATA, *DATABASES, *PIPELINES)), max_size=3))
def test_promise_3_a_narrowed_token_does_no_more_than_an_open_one(
    facts: Snapshot, several: list[Question], listed: list[ResourceId]
) -> None:
    """A narrowed token allows only what its principal may do, on the listed resources, above and below them, and what is derived."""
    for question in several:
        caller = Caller(question.caller.principal, TokenId("narrow"))
        issued = apply(facts, TokenIssued(TokenId("narrow"), caller.principal, only=tuple(listed)))
        asked = replace(question, caller=caller)

        if decide(MODELS, issued, asked, NOW).allowed:
            assert _allowed(facts, replace(question, caller=Caller(caller.principal)))
            near = {
                each for id in listed for each in (id, *facts.list_below(id), *(up.id for up in facts.ancestors(id)))
            }
            derived = facts.resources[question.resource].type in NEKT.derived
            assert question.resource in near or derived
        assert not listed or question.resource != RESOURCES[0] or not decide(MODELS, issued, asked, NOW).allowed
