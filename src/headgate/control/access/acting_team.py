"""The team in which a caller acts, as its token states."""

from headgate.control.kernel.command import CommandContext
from headgate.decision.context import EvaluationContext, model_for
from headgate.decision.effective_assignments import list_subjects
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Resource


def find_team_of_caller(view: CommandContext) -> ResourceId | None:
    """Return the team in which the caller acts, if its token names one of which it is still a member; else None."""
    token = view.facts.tokens.get(view.caller.token) if view.caller and view.caller.token else None
    team = view.facts.resources.get(token.acts_in) if token and token.acts_in else None
    return team.id if token and team and is_member(view, token.principal, team) else None


def is_member(view: CommandContext, principal: PrincipalId, team: Resource) -> bool:
    """Whether a principal gets the assignments of a team, under the model that decides on the team."""
    model = model_for(view.models, view.facts, team.type, team.id)
    asked = EvaluationContext(view.models, view.facts, Question(Caller(principal), "", team.id), view.now)
    return model is not None and team.id in list_subjects(asked, model, principal)
