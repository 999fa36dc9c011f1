"""Decision on one resource from the caller's masks: the same rules as in the reference, without its walks."""

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.decision.conditions import ConditionInput, holds
from headgate.decision.context import EvaluationContext, Models
from headgate.decision.effective_assignments import meets_membership
from headgate.decision.engine.compile import CompiledModel, CompiledModels, RoleSet
from headgate.decision.engine.holdings import Holdings
from headgate.decision.engine.position import MaskRequirement
from headgate.decision.engine.positions import PositionIndex
from headgate.decision.reference import ASSIGNING
from headgate.decision.tree import has_same_nearest, requirement_places, subject_kind
from headgate.decision.types import Question
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.model import AssignRule, RequiredRole


def is_mask_satisfied(plan: MaskRequirement, id: ResourceId, at: dict[ResourceId, int]) -> bool:
    """Whether an assignment gives a wanted role on the resource. Every check calls this function, so its code is simple."""
    if at.get(id, 0) & plan.own:
        return True
    for place, mask in plan.above:  # noqa: SIM110  `any` takes twice as long
        if at.get(place, 0) & mask:
            return True
    return False


def met(plan: MaskRequirement, id: ResourceId, at: dict[ResourceId, int]) -> bool:
    """Whether the masks `at` places satisfy a bare plan for the resource."""
    if is_mask_satisfied(plan, id, at):
        return True
    for plans in plan.least:
        for there, each in plans:
            if not is_mask_satisfied(each, there, at):
                break
        else:
            return True
    return False


def list_named_subjects(resource: Resource, relation: str) -> set[str | None]:
    """Return the targets of a relation of the resource; `created_by` is the word of models for its creator."""
    return {resource.creator} if relation == "created_by" else {edge.target for edge in resource.edges(relation)}


@dataclass(frozen=True, slots=True)
class MaskChecker:
    """Decides on one snapshot, from the compiled models and the positions of resources."""

    models: Models
    compiled: CompiledModels
    facts: Snapshot
    grounds: PositionIndex

    def allows(self, held: Holdings, question: Question, resource: Resource, now: float) -> bool:
        """Whether the holdings allow the question."""
        rules = self.grounds.of(resource).rules
        if rules is None:
            return False
        if question.action in ASSIGNING:
            return self._may_change_assignment(held, question, rules, resource, now)
        return self._may_act(held, question, rules, resource, now) or (
            question.action in self.compiled.bridged and self._may_act_by_bridge(held, question.action, resource)
        )

    def holds(self, held: Holdings, rules: CompiledModel, resource: Resource, wanted: RoleSet) -> bool:
        """Whether one of these roles, which belong to the resource's model, is held on it."""
        return self.meets(held, self.grounds.of(resource).plan(rules, wanted), resource)

    def meets(self, held: Holdings, plan: MaskRequirement, resource: Resource) -> bool:
        """Whether the holdings, or the relations of the resource, satisfy a plan for it."""
        if plan.bare:
            return met(plan, resource.id, held.at)
        if is_mask_satisfied(plan, resource.id, held.at) or any(
            held.principal in list_named_subjects(resource, each) for each in plan.named
        ):
            return True
        there = self.facts.resources
        return any(all(self.meets(held, each, there[id]) for id, each in plans) for plans in plan.least)

    def _may_act(
        self, held: Holdings, question: Question, rules: CompiledModel, resource: Resource, now: float
    ) -> bool:
        act = rules.acts.get(question.action)
        if act is None or act.type != resource.type:
            return False
        if act.wanted is not None and not self.holds(held, rules, resource, act.wanted):
            return False
        case = ConditionInput(self.facts, question, rules.model, resource, now)
        return act.ways is None or any(
            holds(way.when, case)
            and self._holds_all(held, question, rules, resource, way.roles)
            and (way.each is None or self._holds_each(held, rules, resource, question.given.get(way.each, ())))
            for way in act.ways
        )

    def _holds_each(self, held: Holdings, rules: CompiledModel, resource: Resource, words: tuple[str, ...]) -> bool:
        """Whether there are words, and a role that gives the verb of each is held on the resource."""
        acts = [rules.acts.get(f"{resource.type}.{word}") for word in dict.fromkeys(words)]
        return bool(acts) and all(act and act.wanted and self.holds(held, rules, resource, act.wanted) for act in acts)

    def _holds_all(
        self,
        held: Holdings,
        question: Question,
        rules: CompiledModel,
        resource: Resource,
        roles: tuple[RequiredRole, ...],
    ) -> bool:
        """Whether each role is held on all of its places."""
        for needed in roles:
            places, wanted = (
                requirement_places(self.facts, question, resource, needed),
                rules.get_role_set((needed.role,)),
            )
            if not places and not needed.optional:
                return False
            if not all(self._holds_there(held, rules, id, wanted) for id in places):
                return False
        return True

    def _holds_there(self, held: Holdings, rules: CompiledModel, id: ResourceId, wanted: RoleSet) -> bool:
        resource = self.facts.resources.get(id)
        if resource is None or self.grounds.of(resource).rules is not rules:
            return False
        return self.holds(held, rules, resource, wanted)

    def bridges(self, action: str, resource: Resource) -> Iterator[tuple[Resource, CompiledModel, str]]:
        """Yield the resources on which a role gives the action here by a bridge, with their model and that role."""
        for id in self.facts.referrers.get(resource.id, ()):
            port = self.facts.resources[id]
            rules = self.grounds.of(port).rules
            for bridge in rules.model.bridges if rules else ():
                leads = any(edge.target == resource.id for edge in port.edges(bridge.relation))
                if rules and leads and action in bridge.actions:
                    yield port, rules, bridge.role

    def _may_act_by_bridge(self, held: Holdings, action: str, resource: Resource) -> bool:
        ways = self.bridges(action, resource)
        return any(self.holds(held, rules, port, rules.get_role_set((role,))) for port, rules, role in ways)

    def _may_change_assignment(
        self, held: Holdings, question: Question, rules: CompiledModel, resource: Resource, now: float
    ) -> bool:
        asked, verb, new = (
            EvaluationContext(self.models, self.facts, question, now),
            ASSIGNING[question.action],
            question.new_role,
        )

        def may(verb: str, role: str | None) -> bool:
            return self._may_assign(held, asked, rules, resource, verb, role or "")

        if verb != "change":
            return may(verb, question.role)
        return may("change", new) or (question.role is not None and may("remove", question.role) and may("add", new))

    def _may_assign(
        self, held: Holdings, asked: EvaluationContext, rules: CompiledModel, resource: Resource, verb: str, name: str
    ) -> bool:
        model, subject, lasting = rules.model, asked.question.subject, verb == "remove"
        case, kind = asked.condition_input(model, resource), subject_kind(self.facts, subject) if subject else "user"
        role, custom = model.roles.get(name), model.custom_roles
        active = custom is not None and resource.type in custom.on and holds(custom.when, case)
        replaced = active and custom is not None and name in custom.replaces
        own = role is not None and resource.type in role.on and kind in role.to
        own = own and role is not None and (lasting or (not replaced and holds(role.when, case)))
        defined = custom is not None and resource.type in custom.on and kind in custom.to
        defined = defined and name in self.facts.custom_roles
        if not (own or (defined and (lasting or active))):
            return False
        who = subject or PrincipalId("")
        if not lasting and not all(
            meets_membership(asked, model, s, who, kind, name, resource.id) for s in model.standing
        ):
            return False
        return any(
            self._by_rule(held, asked, rules, resource, rule)
            for rule in model.assign
            if verb in rule.verbs and resource.type in rule.on and kind in rule.to
            if (own and name in rule.roles) or (defined and rule.custom)
            if holds(rule.when, case)
        )

    def _by_rule(
        self, held: Holdings, asked: EvaluationContext, rules: CompiledModel, resource: Resource, rule: AssignRule
    ) -> bool:
        question, subject = asked.question, ResourceId(asked.question.subject or "")
        if rule.same and not has_same_nearest(self.facts, resource, self.facts.resources.get(subject), rule.same):
            return False
        if rule.holder and not self.holds(held, rules, resource, rules.get_role_set(rule.holder)):
            return False
        if rule.on_subject and not self._holds_there(held, rules, subject, rules.get_role_set(rule.on_subject)):
            return False
        # A rule that requires no role allows no caller.
        asks = (
            rule.holder
            or rule.on_subject
            or any(requirement_places(self.facts, question, resource, x) for x in rule.needs)
        )
        return bool(asks) and self._holds_all(held, question, rules, resource, rule.needs)
