"""Runs cases: performs the steps of a case in its world, asks its question, and compares the answer with the expected one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headgate.conformance.errors import ScenarioError
from headgate.conformance.explain import explain_decision
from headgate.conformance.questions import Asked, expand_question
from headgate.conformance.steps import perform
from headgate.conformance.world import World
from headgate.control.kernel.parsing import InvalidDocumentError, JsonObject, entry, list_items, require_text
from headgate.decision.reference import decide

ALLOW, DENY, NO_ANSWER = "allow", "deny", "no answer"


@dataclass(frozen=True, slots=True)
class ConformanceCase:
    """One case of a scenario: its steps, its question, and the expected answer, which is that of the product.

    `line` is its line in the file of cases.
    """

    id: str
    given: tuple[JsonObject, ...]
    ask: JsonObject
    expect: str
    note: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The result of a case. `answer` is `allow`, `deny`, or `no answer` if it could not be asked; `why` is the reason."""

    case: ConformanceCase
    answer: str
    why: str

    @property
    def passed(self) -> bool:
        """Whether the answer is the expected one."""
        return self.answer == self.case.expect


def read_case(source: JsonObject, system: str) -> ConformanceCase:
    """Return the case of a line of a system's file. Raises `ScenarioError` for an invalid case."""
    if require_text(source, "system") != system:
        raise ScenarioError(f"`system` differs from the name of the file; write `{system}`")
    expect = require_text(source, "expect")
    if expect not in (ALLOW, DENY):
        raise ScenarioError(f"`expect` is `{expect}`; write `{ALLOW}` or `{DENY}`")
    given = tuple(entry(step) for step in list_items(source.get("given")))
    return ConformanceCase(
        require_text(source, "id"), given, entry(source.get("ask")), expect, require_text(source, "note")
    )


def prepare_world(world: World, case: ConformanceCase) -> World:
    """Return the world after the steps of a case. Raises `ScenarioError` for a step that is unknown or refused."""
    for step in case.given:
        world = perform(world, step)
    return world


Asking = Callable[[World, Sequence[Asked], JsonObject], Sequence[bool]]
"""Returns for each canonical question of a case whether it is allowed; the last argument is the case's `ask` unchanged."""


def by_engine(world: World, asked: Sequence[Asked], ask: JsonObject) -> Sequence[bool]:  # noqa: ARG001 (used by other implementations)
    """Ask the engines of the world."""
    return [world.engines[each.log].check(each.question, world.now).allowed for each in asked]


def run_case(world: World, case: ConformanceCase, asking: Asking = by_engine) -> CaseOutcome:
    """Run a case in a world, which is not changed."""
    try:
        world = prepare_world(world, case)
        asked = expand_question(world, case.ask)
        allowed = asking(world, asked, case.ask)
    except InvalidDocumentError as error:
        return CaseOutcome(case, NO_ANSWER, str(error))
    answer = ALLOW if allowed and all(allowed) else DENY
    if not asked:
        names = world.language.list_names(world.types[require_text(case.ask, "resource")])
        return CaseOutcome(case, answer, f"the model does not have the action on this type of resource; {names}")
    return CaseOutcome(case, answer, _explain_answers(world, asked, allowed))


def _explain_answers(world: World, asked: Sequence[Asked], allowed: Sequence[bool]) -> str:
    """Return the reasons by the reference implementation, and a note for each decision in which the engine differs."""
    sentences: list[str] = []
    for each, answer in zip(asked, allowed, strict=True):
        meant = decide(world.models, world.facts(each.log), each.question, world.now)
        differs = (
            ""
            if meant.allowed == answer
            else f"the engine decides {ALLOW if answer else DENY}, but the reference implementation decides: "
        )
        sentences.append(differs + explain_decision(meant))
    return "; ".join(sentences)
