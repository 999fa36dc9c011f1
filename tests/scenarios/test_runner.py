"""The contents of a case, and unknown words in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headgate.cli.scenarios.folders import System, read_folder
from headgate.conformance.errors import ScenarioError, time_after
from headgate.conformance.runner import NO_ANSWER, CaseOutcome, read_case, run_case
from headgate.control.kernel.parsing import InvalidDocumentError, word
from headgate.decision.evaluator import Reference
from tests.scenarios.folders import CONFORMANCE

SYSTEMS: Mapping[str, System] = {each.name: each for each in read_folder(CONFORMANCE, Reference)}


def outcome(system: str, given: list[Any], ask: str, with_: dict[str, Any] | None = None) -> CaseOutcome:
    """Run a case: `actor action resource`, with parameters."""
    actor, action, resource = ask.split()
    asked = {"actor": actor, "action": action, "resource": resource, "with": with_ or {}}
    source = {"id": "X-1", "system": system, "given": given, "ask": asked, "expect": "allow", "note": "", "source": ""}
    return run_case(SYSTEMS[system].world, read_case(source, system))


NO_ACTOR = "the actor is not a principal of the organization or deployment"


class TestAnUnknownWord:
    """An unknown word is never skipped: the case has no answer, and fails."""

    UNKNOWN: Mapping[str, tuple[list[Any], str, dict[str, Any], str]] = {
        "step": ([{"bless": {"user": "m"}}], "m see L", {}, "there is no kind of step `bless`"),
        "step of two kinds": (
            [{"leave": {}, "clock": "+1d"}],
            "m see L",
            {},
            "a step has the kinds leave and clock; write one step for each",
        ),
        "step without a kind": ([{}], "m see L", {}, "a step lacks the key that says what it does; add one of"),
        "action": ([], "m admire L", {}, "no action `admire` for the model `nekt`"),
        "type to create": ([], "m create workspace", {"type": "palace"}, "no type `palace`"),
        "type of a step": (
            [{"create": {"id": "p", "type": "palace", "parent": "L"}}],
            "m see L",
            {},
            "no type `palace`",
        ),
        "resource": ([], "m see palace", {}, "the world declares no object with the id `palace`"),
        "place of a step": ([{"grant": {"to": "m", "role": "viewer", "on": "palace"}}], "m see L", {}, "`palace`"),
        "role of a step": ([{"grant": {"to": "m", "role": "king", "on": "L"}}], "m see L", {}, "no role `king`"),
        "parent for a type": (
            [{"create": {"id": "p", "type": "layer", "parent": "T1"}}],
            "m see L",
            {},
            "does not allow a `database` below a `table`",
        ),
        "actor": ([], "palace see L", {}, "the world declares no actor with the id `palace`"),
        "creator of a token": (
            [{"create_token": {"id": "k", "by": "palace"}}],
            "m see L",
            {},
            "the world declares no principal with the id `palace`",
        ),
        "resource to delete": (
            [{"delete": {"id": "palace"}}],
            "m see L",
            {},
            "the world declares no object with the id `palace`",
        ),
        "key of a step": (
            [{"leave": {"user": "m", "of": "workspace", "why": "x"}}],
            "m see L",
            {},
            "`leave` has no key `why`",
        ),
        "scope": ([{"create_token": {"id": "k", "by": "m", "scope": "galaxy"}}], "m see L", {}, "no scope `galaxy`"),
        "time": ([{"clock": "tomorrow"}], "m see L", {}, "`tomorrow` is not a time"),
        "setting's value": ([{"set": {"on": "workspace", "plan": "gold"}}], "m see L", {}, "`plan` must be one of"),
        "setting": ([{"set": {"on": "workspace", "plam": "growth"}}], "m see L", {}, "or setting `plam`; choose from"),
        "relation of a new resource": (
            [{"create": {"id": "q", "type": "query", "parent": "workspace", "input": ["T1"]}}],
            "m see L",
            {},
            "the type `query` has no attribute, relation or setting `input`",
        ),
    }

    @pytest.mark.parametrize("about", UNKNOWN)
    def test_an_unknown_word_leaves_the_case_without_an_answer(self, about: str) -> None:
        given, ask, with_, sentence = self.UNKNOWN[about]

        found = outcome("nekt", given, ask, with_)

        assert (found.answer, found.passed) == (NO_ANSWER, False)
        assert sentence in found.why

    def test_an_action_that_a_type_of_resource_does_not_have_is_denied(self) -> None:
        assert outcome("nekt", [], "o add_stream Q1").answer == "deny"
        assert outcome("nekt", [], "o create T1", {"type": "layer"}).answer == "deny"


class TestAStep:
    def test_a_step_without_an_actor_is_carried_out_without_a_check(self) -> None:
        assert outcome("nekt", [{"grant": {"to": "m", "role": "manager", "on": "L"}}], "m delete L").answer == "allow"

    def test_a_step_of_an_actor_is_the_real_command_and_its_refusal_fails_the_case(self) -> None:
        refused = outcome("nekt", [{"grant": {"to": "n", "role": "viewer", "on": "L"}, "as": "m"}], "n see L")
        done = outcome("nekt", [{"grant": {"to": "n", "role": "viewer", "on": "L"}, "as": "a"}], "n see L")

        assert (refused.answer, done.answer) == (NO_ANSWER, "allow")
        assert "the step `role.assign` was refused" in refused.why

    @pytest.mark.parametrize("system", SYSTEMS)
    def test_a_step_never_changes_the_world_of_the_next_case(self, system: str) -> None:
        found = SYSTEMS[system]
        before = {log: engine.facts for log, engine in found.world.engines.items()}

        for case in found.cases[:50]:
            run_case(found.world, case)

        assert {log: engine.facts for log, engine in found.world.engines.items()} == before

    def test_a_role_of_a_stranger_has_no_effect_until_the_stranger_joins(self) -> None:
        given = [{"grant": {"to": "z", "role": "viewer", "on": "L"}}]
        joined = [*given, {"join": {"user": "z", "of": "workspace", "role": "member"}}]

        assert outcome("nekt", given, "z see L").answer == "deny"
        assert outcome("nekt", joined, "z see L").answer == "allow"

    def test_a_creator_gets_what_the_model_gives_to_creators(self) -> None:
        given = [
            {"grant": {"to": "u", "role": "admin", "on": "A"}},
            {"create": {"id": "P9", "type": "project", "parent": "A"}, "as": "u"},
        ]

        assert outcome("onehouse", given, "u connect_cloud_account P9").answer == "allow"
        assert outcome("onehouse", given, "adm connect_cloud_account P9").answer == "deny"

    def test_a_step_that_deletes_a_resource_removes_access_to_it(self) -> None:
        given = [{"grant": {"to": "m", "role": "manager", "on": "T1"}}, {"delete": {"id": "T1"}}]

        assert outcome("nekt", given, "m see T1").answer == "deny"
        assert outcome("nekt", given, "m see L").answer == "deny"


class TestAnOrganizationMadeByAStep:
    GIVEN: tuple[Any, ...] = (
        {"create": {"id": "A2", "type": "account", "parent": "onehouse", "domain": "new.org"}, "as": "z"},
        {"join": {"user": "z2", "of": "A2"}},
    )

    def test_an_organization_that_a_step_creates_has_its_own_log_and_belongs_to_its_creator(self) -> None:
        assert outcome("onehouse", [*self.GIVEN], "z create A2", {"type": "project"}).answer == "allow"
        assert outcome("onehouse", [*self.GIVEN], "z create A", {"type": "project"}).answer == "deny"
        assert outcome("onehouse", [*self.GIVEN], "z2 create A2", {"type": "project"}).answer == "deny"

    def test_an_organization_that_a_step_creates_takes_its_domain(self) -> None:
        asked = outcome("onehouse", [*self.GIVEN], "z2 create onehouse", {"type": "account", "domain": "new.org"})

        assert asked.answer == "deny"


class TestTheReason:
    def test_the_reason_of_an_allow_names_the_roles_that_gave_it(self) -> None:
        given = [{"add_member": {"group": "g", "user": "m"}}, {"grant": {"to": "g", "role": "editor", "on": "L"}}]

        assert outcome("nekt", given, "m see S1").why == (
            "`source.describe` on `S1` is allowed: `g` has `editor` on `L`, the weakest being `T1`; "
            "`g` has `editor` on `L`, the weakest being `T2`"
        )

    def test_the_reason_of_a_deny_names_the_missing_role_or_condition(self) -> None:
        assert "`viewer` or `editor` or `manager`" in outcome("nekt", [], "m see L").why
        assert "the condition `self.built_in is not true` does not hold" in outcome("nekt", [], "o rename All").why
        assert outcome("nekt", [], "z see L").why == "`database.describe` on `L` is denied: " + NO_ACTOR


class TestACase:
    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"expect": "perhaps"}, "`expect` is `perhaps`; write `allow` or `deny`"),
            ({"system": "y42"}, "`system` differs from the name of the file; write `nekt`"),
            ({"id": None}, "`id` is missing"),
            ({"given": ["step"]}, "`step` is not a mapping; write a mapping of names to values"),
            ({"ask": None}, "`None` is not a mapping; write a mapping of names to values"),
        ],
    )
    def test_a_document_that_is_no_case_is_refused(self, change: dict[str, Any], sentence: str) -> None:
        source = {"id": "X", "system": "nekt", "given": [], "ask": {}, "expect": "deny", "note": "", "source": ""}

        with pytest.raises(InvalidDocumentError, match=sentence):
            read_case({**source, **change}, "nekt")


class TestAValue:
    def test_a_value_becomes_a_word_as_in_facts(self) -> None:
        assert [word(each) for each in (True, False, 3, "three")] == ["true", "false", "3", "three"]

    def test_a_mapping_is_refused_as_a_value(self) -> None:
        with pytest.raises(InvalidDocumentError, match="but a single value is needed"):
            word({"a": "b"})

    @pytest.mark.parametrize("offset", ["30d", "+d", "+3h", "+-3d", ""])
    def test_a_time_is_given_only_in_days_from_now(self, offset: str) -> None:
        assert time_after(10.0, "+2d") == 10.0 + 2 * 86_400

        with pytest.raises(ScenarioError, match="is not a time"):
            time_after(10.0, offset)


def test_a_folder_that_cannot_be_read_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"has no file `cases/\*\.jsonl`, so there is no case to run"):
        list(read_folder(tmp_path, Reference))

    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "own.jsonl").write_text("")
    with pytest.raises(
        ScenarioError, match=r"there is no access model `own`; create the model in the file `.*/own\.yaml`"
    ):
        list(read_folder(tmp_path, Reference))

    (tmp_path / "cases" / "own.jsonl").rename(tmp_path / "cases" / "nekt.jsonl")
    with pytest.raises(ScenarioError, match=r"there is no file `.*nekt\.yaml`"):
        list(read_folder(tmp_path, Reference))

    (tmp_path / "worlds").mkdir()
    (tmp_path / "worlds" / "nekt.yaml").write_text("resources: [{id: w, type: palace, parent: null}]")
    with pytest.raises(ScenarioError, match="no type `palace`"):
        list(read_folder(tmp_path, Reference))

    (tmp_path / "worlds" / "nekt.yaml").write_text("resources: [{id: w, type: workspace, parent: null}]")
    (tmp_path / "cases" / "nekt.jsonl").write_text("{}\n")
    with pytest.raises(ScenarioError, match=r"nekt\.jsonl:1: `expect` is missing|nekt\.jsonl:1: `system` is missing"):
        list(read_folder(tmp_path, Reference))

    case = '{"id": "A", "system": "nekt", "given": [], "ask": {}, "expect": "deny", "note": "\\u2028", "source": ""}\n'
    (tmp_path / "cases" / "nekt.jsonl").write_text(f"\n{case}\n{case}")
    with pytest.raises(ScenarioError, match=r"nekt\.jsonl:4: the id `A` is used twice"):
        list(read_folder(tmp_path, Reference))
