"""All kinds of questions agree with each other after the steps of every scenario; a new scenario needs one file and no code.

The kinds are `check`, `check many`, the list of resources, the list of principals, discovery, and the explanation with
its fixes. The engine agrees with the reference. The usual run tries a sample of each file's cases, the soak all of
them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from headgate.cli.scenarios.folders import System, read_folder
from headgate.conformance.questions import expand_question
from headgate.conformance.runner import prepare_world
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Reference
from headgate.decision.explain.explain import explain
from headgate.decision.types import Fix, Question, RequiredAssignment
from headgate.facts.caller import Caller
from headgate.facts.changes import RoleAssigned
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from tests.scenarios.folders import FOLDERS

SAMPLE = 10
"""The number of cases of each file in the usual run."""

EVERY = (
    pytest.param(SAMPLE, id="sample"),
    pytest.param(None, id="all", marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
)
FILES = tuple(path for folder in FOLDERS for path in sorted((folder / "cases").glob("*.jsonl")))


@dataclass(frozen=True, slots=True)
class Scene:
    """The engine and the reference after a case's steps, the case's questions, and the time to ask them."""

    engine: Engine
    reference: Reference
    asked: tuple[Question, ...]
    now: float

    @property
    def caller(self) -> Caller:
        return self.asked[0].caller

    def actions(self) -> Iterator[tuple[str, tuple[ResourceId, ...]]]:
        """Every action of the model, with the resources that it can be asked on."""
        model, facts = self.reference.models[self.reference.facts.model], self.reference.facts
        for type in model.types:
            there = tuple(id for id, each in facts.resources.items() if each.type == type)
            yield from ((action, there) for action in model.actions_on(type))

    def allowed(self, caller: Caller, action: str, resource: ResourceId) -> bool:
        """Return the reference's decision on a question without parameters."""
        return self.reference.check(Question(caller, action, resource), self.now).allowed


@cache
def _system(path: Path) -> System:
    return next(each for each in read_folder(path.parents[1], Engine) if each.name == path.stem)


def scenes(path: Path, most: int | None) -> Iterator[Scene]:
    """Yield the scenes of at most this number of a file's cases, spread over the file."""
    system = _system(path)
    step = 1 if most is None else max(1, len(system.cases) // most)
    for case in system.cases[::step]:
        world = prepare_world(system.world, case)
        asked = expand_question(world, case.ask)
        if asked:
            engine = world.engines[asked[0].log]
            assert isinstance(engine, Engine)
            reference = Reference(engine.models, engine.facts)
            yield Scene(engine, reference, tuple(each.question for each in asked), world.now)


@pytest.mark.parametrize("most", EVERY)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parents[1].name}-{path.stem}")
class TestAllQuestionsAgree:
    def test_the_engine_checks_as_the_reference_does_one_by_one_and_together(
        self, path: Path, most: int | None
    ) -> None:
        for scene in scenes(path, most):
            everything = [Question(scene.caller, action, id) for action, there in scene.actions() for id in there]
            asked = (*scene.asked, *everything)

            together = scene.engine.check_many(asked, scene.now)

            for question, one in zip(asked, together, strict=True):
                assert one.allowed == scene.engine.check(question, scene.now).allowed
                assert one.allowed == scene.reference.check(question, scene.now).allowed, question

    def test_listed_resources_are_those_that_a_check_allows(self, path: Path, most: int | None) -> None:
        for scene in scenes(path, most):
            for action, there in scene.actions():
                found = scene.engine.list_resources(scene.caller, action, scene.now)

                assert len(found) == len(set(found))
                assert set(found) == {id for id in there if scene.allowed(scene.caller, action, id)}, action

    def test_listed_principals_are_those_that_the_reference_lists(self, path: Path, most: int | None) -> None:
        for scene in scenes(path, most):
            type = scene.asked[0].action.partition(".")[0]
            for action, there in scene.actions():
                for id in there if action.startswith(f"{type}.") else ():
                    found = scene.engine.list_principals(action, id, scene.now)

                    assert found == scene.reference.list_principals(action, id, scene.now), (action, id)

    def test_the_engine_and_the_reference_agree_on_discoverable_resources(self, path: Path, most: int | None) -> None:
        for scene in scenes(path, most):
            for id in scene.reference.facts.resources:
                known = scene.engine.is_discoverable(scene.caller, id, scene.now)

                assert known == scene.reference.is_discoverable(scene.caller, id, scene.now), id

    def test_an_explanation_agrees_with_the_check_and_its_fixes_allow_the_action(
        self, path: Path, most: int | None
    ) -> None:
        for scene in scenes(path, most):
            for question in scene.asked:
                explanation = explain(scene.reference.models, scene.reference.facts, question, scene.now)

                assert explanation.decision.allowed == scene.reference.check(question, scene.now).allowed
                assert not (explanation.decision.allowed and explanation.fixes)
                assert explanation.discoverable or not explanation.fixes
                for fix in explanation.fixes:
                    _assert_fixes(scene, question, fix)


def _assert_fixes(scene: Scene, question: Question, fix: Fix) -> None:
    """Check that every approver of the fix may make their assignment, that all together allow, and that none is superfluous."""
    answers = scene.reference
    made = [_given(answers, fix, needed) for needed in fix.assignments]
    for needed, given in zip(fix.assignments, made, strict=True):
        for approver in needed.approvers:
            add = Question(Caller(approver), "assignment.add", given.resource, role=given.role, subject=given.subject)
            assert answers.check(add, scene.now).allowed, (question, given, approver)
        assert needed.approvers
        answers = _after(answers, given)
    assert answers.check(question, scene.now).allowed, (question, fix)
    for needless in made:
        less = _after(scene.reference, *(given for given in made if given != needless))
        assert not less.check(question, scene.now).allowed, (question, fix, needless)


def _given(answers: Reference, fix: Fix, needed: RequiredAssignment) -> RoleAssigned:
    resource = answers.facts.resources[needed.resource]
    model = next(each.name for each in answers.models.values() if resource.type in each.types)
    return RoleAssigned(fix.subject, needed.role, needed.resource, model)


def _after(answers: Reference, *given: RoleAssigned) -> Reference:
    return answers.advance(given, fold(answers.facts, given, answers.facts.revision))
