"""`headgate facts` on a facts file: answers, reasons, what would follow, as of when; and what cannot be asked."""

import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.every_command import app
from headgate.facts.changes import (
    Change,
    GovernedBy,
    PrincipalExpires,
    ResourceCreated,
    RoleRevoked,
    SettingChanged,
    TokenIssued,
)
from headgate.facts.encoding import encode
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from tests.cli.facts_file import written
from tests.fakes.small_organization import FLIGHTS, MEMBER, OTHER, PLANES, RAW, SECRET, assigned

Ask = Callable[..., Result]
NEKT = (files("headgate.model") / "models" / "nekt.yaml").read_text(encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture
def ask(file: Path) -> Ask:
    """Ask the facts file: the question's name, then its words."""
    return lambda question, *words: asked(question, file, *words)


def asked(question: str, file: Path, *words: str | Path) -> Result:
    words = ("facts", question, file, *words)
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(word) for word in words])


def answer(result: Result) -> Any:
    """The JSON that a command printed."""
    return json.loads(result.stdout)


class TestCheck:
    def test_facts_check_exits_with_0_for_allow_and_1_for_deny(self, ask: Ask) -> None:
        allowed = ask("check", "table.select", "lake.raw.flights", "--principal", MEMBER)
        denied = ask("check", "table.insert", "lake.raw.flights", "--principal", MEMBER)

        assert (allowed.exit_code, denied.exit_code) == (0, 1)
        assert allowed.output == "allow: member, table.select on lake.raw.flights (nekt 3, revision 4)\n"
        assert denied.output.startswith("deny: ")

    @pytest.mark.parametrize("engine", ["engine", "reference"])
    def test_the_engine_and_the_reference_answer_a_check_alike(self, ask: Ask, engine: str) -> None:
        result = ask("check", "table.select", FLIGHTS, "--principal", MEMBER, "--engine", engine, "--output", "json")

        assert answer(result)["allowed"] is True

    def test_facts_check_accepts_further_resources_of_the_question(self, ask: Ask) -> None:
        words = ("project.create_query", "project", "--principal", OTHER, "--related", "output_layers=lake.raw")

        assert ask("check", *words, "--related", "inputs=lake.raw.flights,lake.raw.planes").exit_code == 0
        assert ask("check", *words, "--related", "inputs=lake.raw.flights,lake.secret.salaries").exit_code == 1

    def test_facts_check_accepts_the_subject_and_the_role_of_an_assignment(self, ask: Ask) -> None:
        words = ("assignment.add", "lake.raw", "--subject", MEMBER, "--role", "editor")

        assert ask("check", *words, "--principal", "admin").exit_code == 0
        assert ask("check", *words, "--principal", OTHER).exit_code == 1

    @pytest.mark.parametrize(
        ("words", "missing"),
        [
            (("assignment.add", "lake.raw", "--subject", MEMBER), "--role"),
            (("assignment.remove", "lake.raw", "--role", "editor"), "--subject"),
            (("assignment.change", "lake.raw", "--role", "editor", "--subject", MEMBER), "--new-role"),
        ],
    )
    def test_facts_check_names_the_missing_option_of_an_assignment(
        self, ask: Ask, words: tuple[str, ...], missing: str
    ) -> None:
        refused = ask("check", *words, "--principal", "admin")

        assert refused.exit_code == 2
        assert f"pass it with `{missing}`" in refused.output

    def test_facts_check_accepts_a_token_as_the_caller(self, tmp_path: Path) -> None:
        token = TokenIssued(TokenId("narrow"), MEMBER, None, (PLANES,))
        file = written(tmp_path, token)

        assert asked("check", file, "table.select", PLANES, "--principal", "narrow").exit_code == 0
        assert asked("check", file, "table.select", FLIGHTS, "--principal", "narrow").exit_code == 1

    def test_facts_check_accepts_an_absolute_and_a_relative_time(self, tmp_path: Path) -> None:
        file = written(tmp_path, PrincipalExpires(MEMBER, 86_400.0 * 2))
        words = ("table.select", FLIGHTS, "--principal", MEMBER, "--at")

        assert asked("check", file, *words, "1970-01-02").exit_code == 0
        assert asked("check", file, *words, "1970-01-03T00:00:00Z").exit_code == 1
        assert asked("check", file, *words, "+1d", "--revision", "5").exit_code == 0
        assert asked("check", file, *words, "+2d", "--revision", "5").exit_code == 1

    def test_facts_check_accepts_a_revision(self, ask: Ask) -> None:
        words = ("table.select", FLIGHTS, "--principal", MEMBER, "--revision")

        assert ask("check", *words, "3").exit_code == 0
        assert ask("check", *words, "2").exit_code == 1

    def test_facts_check_accepts_a_model_file(self, ask: Ask, tmp_path: Path) -> None:
        model = tmp_path / "own.yaml"
        editors_only = NEKT.replace("table: [describe, select]", "table: [describe]")
        model.write_text(editors_only.replace("table: [insert,", "table: [select, insert,"))

        assert ask("check", "table.select", FLIGHTS, "--principal", MEMBER, "--model-file", str(model)).exit_code == 1


class TestWhatCannotBeAsked:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("table.selct", FLIGHTS, "--principal", MEMBER), "no access model of the facts file has an action `table.selct`; did you mean `table.select`?"),
            (("table.select", "lake.raw.flight", "--principal", MEMBER), "the facts file has no resource `lake.raw.flight`; did you mean `lake.raw.flights`?"),
            (("table.select", FLIGHTS, "--principal", "membre"), "no principal, token or run has the id `membre`; did you mean `member`?"),
            (("table.select", FLIGHTS, "--principal", MEMBER, "--role", "viewr"), "no access model of the facts file has a role `viewr`; did you mean `viewer`?"),
            (("table.select", FLIGHTS, "--principal", MEMBER, "--context", "kind"), "`kind` is not a parameter; write `WHAT=VALUE`"),
            (("table.select", FLIGHTS, "--principal", MEMBER, "--at", "soon"), "`soon` is not a time"),
            (("table.select", FLIGHTS, "--principal", MEMBER, "--revision", "9"), "the facts file ends before revision 9; use revision 4, its newest"),
            (("table.select", FLIGHTS, "--principal", MEMBER, "--model-file", "none.yaml"), "there is no file `none.yaml`"),
        ],
    )  # fmt: skip
    def test_an_invalid_question_prints_one_sentence_and_exits_with_2(
        self, ask: Ask, words: tuple[str, ...], message: str
    ) -> None:
        result = ask("check", *words)

        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith(f"headgate: {message}")

    def test_a_missing_facts_file_names_the_command_that_writes_one(self, tmp_path: Path) -> None:
        result = asked("check", tmp_path / "none.jsonl", "table.select", FLIGHTS, "--principal", MEMBER)

        assert result.exit_code == 2
        assert result.stderr == (
            f"headgate: there is no file `{tmp_path / 'none.jsonl'}`; correct the path, or write a facts file with `headgate facts export`\n"
        )

    def test_an_unknown_principal_names_the_way_to_find_its_id(self, ask: Ask) -> None:
        said = ask("check", "table.select", FLIGHTS, "--principal", "Zoe Zoom").stderr

        assert "no principal, token or run has the id `Zoe Zoom`; a facts file has no names of principals;" in said
        assert "`headgate api GET /api/v1/users` shows the id of each user" in said

    def test_a_folder_in_place_of_a_facts_file_is_refused(self, tmp_path: Path) -> None:
        words = ("check", tmp_path, "table.select", FLIGHTS, "--principal", MEMBER)

        assert asked(*words).stderr == f"headgate: `{tmp_path}` is a folder; name a facts file\n"
        (tmp_path / "headgate.db").touch()
        said = asked(*words)

        assert said.exit_code == 2
        assert f"name a facts file, which `headgate facts export {tmp_path}` prints" in said.stderr

    def test_a_facts_file_may_begin_with_a_byte_order_mark(self, file: Path) -> None:
        file.write_text(file.read_text(), encoding="utf-8-sig")

        assert asked("check", file, "table.select", FLIGHTS, "--principal", MEMBER).exit_code == 0

    def test_a_file_that_is_no_facts_file_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "facts.jsonl"
        file.write_text("{}\n")

        result = asked("list-resources", file, "table.select", "--principal", MEMBER)

        assert result.exit_code == 2
        assert f"{file}: line 1: the file is not a facts file" in result.stderr

    def test_assignments_to_a_subject_that_does_not_exist_are_noted(self, tmp_path: Path) -> None:
        file = written(tmp_path, assigned(PrincipalId("membre"), "viewer", RAW))

        said = asked("check", file, "table.select", FLIGHTS, "--principal", MEMBER).stderr

        assert "no principal, group or team has the id `membre` at revision 5; its assignments give nothing" in said

    def test_a_hostile_facts_file_forges_no_line_and_floods_no_terminal(self, file: Path) -> None:
        text = file.read_text()
        words = ("table.select", FLIGHTS, "--principal", MEMBER)
        file.write_text(text.replace('"role": "viewer"', '"role": "x\\nheadgate: allowed"'))
        noted = asked("check", file, *words).stderr
        file.write_text(text.replace('"kind": "user"', '"kind": "x\\nheadgate: allowed' + "x" * 10**6 + '"'))
        refused = asked("check", file, *words).stderr

        assert "has no role `x\\x0aheadgate: allowed`" in noted
        assert "no principal can have the kind `x\\x0aheadgate: allowed" in refused
        assert len(refused) < 1000
        assert not any(line.startswith("headgate: allowed") for line in (noted + refused).splitlines())

    def test_an_assigned_role_that_no_model_has_is_noted(self, file: Path) -> None:
        file.write_text(file.read_text().replace('"role": "viewer"', '"role": "viewr"'))

        result = asked("check", file, "table.select", FLIGHTS, "--principal", MEMBER)

        assert result.exit_code == 1
        assert (
            "the access model `nekt` has no role `viewr`; assignments of `viewr` at revision 4 give nothing"
            in result.stderr
        )

    def test_a_past_revision_with_an_unknown_model_source_is_refused(self, file: Path) -> None:
        text = file.read_text()
        hash = json.loads(text.splitlines()[2])["model_hash"]
        file.write_text(text.replace(hash, "another"))
        words = ("table.select", FLIGHTS, "--principal", MEMBER)

        past, now = asked("check", file, *words, "--revision", "3"), asked("check", file, *words)

        assert past.exit_code == 2
        assert "the version of the access model `nekt` that was in force at revision 3 is not available" in past.stderr
        assert now.exit_code == 0
        assert "another version of the access model `nekt`; the shipped version decides" in now.stderr

    def test_a_revision_of_a_file_without_entries_is_refused(self, file: Path) -> None:
        lines = [line for line in file.read_text().splitlines() if '"entry"' not in line]
        file.write_text("\n".join(lines))
        words = ("table.select", FLIGHTS, "--principal", MEMBER)

        assert asked("check", file, *words).exit_code == 0
        assert "the facts file has no revision 3; use" in asked("check", file, *words, "--revision", "3").stderr
        assert (
            "the facts file does not state when revision 4 was written"
            in asked("check", file, *words, "--revision", "4").stderr
        )


class TestListAndWho:
    def test_facts_list_resources_prints_the_resources_that_the_caller_may_use(self, ask: Ask) -> None:
        assert (
            ask("list-resources", "table.select", "--principal", MEMBER).output == "lake.raw.flights\nlake.raw.planes\n"
        )

    def test_facts_list_principals_prints_the_principals_that_may_use_the_resource(self, ask: Ask) -> None:
        assert ask("list-principals", "table.insert", "lake.raw.flights").output == "admin\nother\nowner\n"

    @pytest.mark.parametrize("engine", ["engine", "reference"])
    def test_facts_list_resources_and_list_principals_agree_as_json(self, ask: Ask, engine: str) -> None:
        options = ("--output", "json", "--engine", engine)
        listed = answer(ask("list-resources", "table.select", "--principal", OTHER, *options))

        for each in listed:
            assert OTHER in answer(ask("list-principals", "table.select", each["resource"], *options))
        assert [each["name"] for each in listed] == ["lake.raw.flights", "lake.raw.planes"]


class TestExplain:
    def test_facts_explain_prints_every_path_of_an_allow(self, tmp_path: Path) -> None:
        file = written(tmp_path, assigned(MEMBER, "editor", FLIGHTS))

        result = asked("explain", file, "table.select", FLIGHTS, "--principal", MEMBER)

        assert result.exit_code == 0
        assert result.output.splitlines()[1:] == [
            "├── member was assigned editor on lake.raw.flights, which gives viewer",
            "└── member was assigned viewer on lake.raw",
        ]

    def test_facts_explain_prints_when_the_access_ends(self, tmp_path: Path) -> None:
        file = written(tmp_path, assigned(MEMBER, "editor", FLIGHTS, ends=4102444800.0))
        words = ("explain", file, "table.insert", FLIGHTS, "--principal", MEMBER)

        assert asked(*words).output.splitlines()[1:] == [
            "└── member was assigned editor on lake.raw.flights, until 2100-01-01 00:00:00+00:00"
        ]
        assert [each["ends"] for each in answer(asked(*words, "--output", "json"))["paths"]] == [4102444800.0]

    def test_facts_explain_prints_each_of_the_weakest_tables_of_a_pipeline(self, ask: Ask) -> None:
        result = ask("explain", "query.describe", "delays", "--principal", MEMBER)

        assert result.output.splitlines()[1:] == [
            "├── member was assigned viewer on lake.raw (limited by lake.raw.flights, where the role is weakest)",
            "└── member was assigned viewer on lake.raw (limited by lake.raw.planes, where the role is weakest)",
        ]

    def test_facts_explain_prints_the_missing_roles_and_their_approvers(self, ask: Ask) -> None:
        result = ask("explain", "query.trigger", "delays", "--principal", MEMBER)

        assert result.exit_code == 1
        assert result.output.splitlines()[1:] == [
            "├── member does not hold `editor` on `delays`",
            "└── it would be allowed with",
            "    ├── editor on lake.raw.flights for member, which admin or owner can assign",
            "    └── editor on lake.raw.planes for member, which admin or owner can assign",
        ]

    def test_facts_explain_says_that_no_assignment_would_help(self, ask: Ask) -> None:
        result = ask("explain", "group.delete", "All", "--principal", "owner")

        assert result.output.splitlines()[1:] == [
            "├── the access model requires `self.built_in is not true`, and this condition does not hold",
            "└── no role assignment that a user can make would allow it, and neither would joining a visible group or team",
        ]

    @pytest.mark.parametrize(
        "options",
        [
            (),
            (
                "--output",
                "json",
            ),
        ],
    )
    def test_facts_explain_prints_the_same_for_a_hidden_and_a_missing_name(
        self, ask: Ask, options: tuple[str, ...]
    ) -> None:
        hidden = ask("explain", "table.select", "lake.secret.salaries", "--principal", MEMBER, *options)
        missing = ask("explain", "table.select", "lake.secret.nosuchit", "--principal", MEMBER, *options)

        assert hidden.exit_code == missing.exit_code == 1
        assert hidden.output.replace("salaries", "nosuchit") == missing.output
        assert "owner" not in hidden.output.replace("ask an owner or admin", "")

    def test_facts_explain_prints_the_fix_of_a_hidden_name_with_reveal(self, ask: Ask) -> None:
        result = ask(
            "explain", "table.select", "lake.secret.salaries", "--principal", "stranger", "--reveal", "--output", "json"
        )

        [fix] = answer(result)["fixes"]
        assert fix == {
            "subject": "stranger",
            "assignments": [
                {"role": "member", "resource": "organization", "approvers": ["admin", "owner"]},
                {"role": "viewer", "resource": "lake.secret.salaries", "approvers": ["admin", "owner"]},
            ],
        }
        assert ask("explain", "table.select", "nowhere", "--principal", MEMBER, "--reveal").exit_code == 2

    def test_facts_explain_prints_its_paths_as_json(self, ask: Ask) -> None:
        found = answer(ask("explain", "table.select", FLIGHTS, "--principal", MEMBER, "--output", "json"))

        assert [(each["assigned_role"], each["assigned_on"]) for each in found["paths"]] == [("viewer", "lake.raw")]
        assert (found["missing"], found["fixes"]) == (None, [])


def proposed(folder: Path, *changes: Change) -> Path:
    file = folder / "changes.jsonl"
    file.write_text("".join(f"{json.dumps(encode(change))}\n" for change in changes))
    return file


class TestWhatIf:
    def test_facts_what_if_prints_lost_rights_and_broken_pipelines(self, ask: Ask, tmp_path: Path) -> None:
        changes = tmp_path / "changes.jsonl"
        changes.write_text('\n{"change": "RoleRevoked", "subject": "other", "role": "editor", "resource": "raw"}\n')

        result = ask("what-if", changes)

        assert result.exit_code == 0
        assert result.output.splitlines()[-1].endswith("pipelines that break: 1, that open: 0")
        assert "2 of type table: lake.raw.flights, lake.raw.planes" in result.output

    def test_facts_what_if_prints_each_changed_decision_as_json(self, ask: Ask, tmp_path: Path) -> None:
        found = answer(ask("what-if", proposed(tmp_path, assigned(MEMBER, "viewer", SECRET)), "--output", "json"))

        flip = {"principal": "member", "action": "table.select", "resource": "lake.secret.salaries"}
        assert {**flip, "before": False, "after": True} in found["flips"]
        assert {each["principal"] for each in found["people"]} == {"member"}
        assert found["pipelines"] == []

    def test_facts_what_if_without_an_effect_prints_no_changed_decision(self, ask: Ask, tmp_path: Path) -> None:
        result = ask("what-if", proposed(tmp_path, assigned(MEMBER, "viewer", RAW)))

        assert result.output.startswith("decisions that flip: 0 ")

    def test_facts_what_if_refuses_a_line_that_is_no_change(self, ask: Ask, tmp_path: Path) -> None:
        changes = tmp_path / "changes.jsonl"
        changes.write_text('{"change": "Unheard"}\n')
        assert "line 1: `Unheard` is not a type of change" in ask("what-if", changes).stderr

        changes.write_text('{"change": "ResourceDeleted", "resource": "t"}\n{"change": "RoleRevoked"}')
        assert ask("what-if", changes).exit_code == 2

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (assigned(MEMBER, "viewr", RAW), "line 1: the access model `nekt` has no role `viewr`; did you mean `viewer`?"),
            (replace(assigned(MEMBER, "viewer", RAW), model="nekto"), "line 1: no access model `nekto` is in force; write one of `nekt`"),
            (assigned(PrincipalId("membre"), "viewer", RAW), "line 1: no subject has the id `membre`; did you mean `member`?"),
            (assigned(MEMBER, "viewer", ResourceId("lake.raw")), "line 1: no resource has the id `lake.raw`; write `raw`, the id of the resource of this name"),
            (RoleRevoked(MEMBER, "viewr", RAW), "line 1: `member` was not assigned the role `viewr` on `raw`; did you mean `viewer`?"),
            (GovernedBy(ResourceId("project"), "y42", ""), "line 1: no access model `y42` is in force; write one of `nekt`"),
            (ResourceCreated(ResourceId("new"), "tabel", RAW, "new"), "line 1: no access model in force has the type `tabel`; did you mean `table`?"),
            (SettingChanged(ResourceId("project"), "plann", "growth"), "line 1: no access model in force has the setting `plann`; did you mean `plan`?"),
            (ResourceCreated(ResourceId("new"), "table", RAW, "flights"), "line 1: `raw` contains another resource with the name `flights`"),
        ],
    )  # fmt: skip
    def test_facts_what_if_refuses_a_change_that_could_have_no_effect(
        self, ask: Ask, tmp_path: Path, change: Change, message: str
    ) -> None:
        result = ask("what-if", proposed(tmp_path, change))

        assert result.exit_code == 2
        assert result.stdout == ""
        assert message in result.stderr

    def test_facts_what_if_refuses_a_file_without_changes(self, ask: Ask, tmp_path: Path) -> None:
        result = ask("what-if", proposed(tmp_path))

        assert result.exit_code == 2
        assert "has no changes; write one change as JSON on each line" in result.stderr

    def test_facts_what_if_refuses_a_change_of_a_missing_principal(self, ask: Ask, tmp_path: Path) -> None:
        changes = tmp_path / "changes.jsonl"
        changes.write_text('{"change": "PrincipalExpires", "principal": "p_gone", "ends": 1}\n')

        result = ask("what-if", changes)

        assert result.exit_code == 2
        assert "line 1: no principal has the id `p_gone`" in result.stderr


class TestTheDifference:
    def test_a_diff_from_an_earlier_revision_prints_the_decisions_that_changed(self, ask: Ask) -> None:
        found = answer(ask("diff", "2", "--output", "json"))

        assert {each["principal"] for each in found["flips"]} == {"member", "other"}
        assert all(each["after"] for each in found["flips"])

    def test_a_diff_of_two_models_prints_the_decisions_that_the_new_one_changes(
        self, file: Path, tmp_path: Path
    ) -> None:
        stricter = tmp_path / "strict.yaml"
        stricter.write_text(
            NEKT.replace("model: nekt", "model: strict").replace("volume: [describe, read]", "volume: [describe]")
        )

        done = CliRunner().invoke(app, ["model", "diff", "nekt", str(stricter), str(file), "--output", "json"])

        assert done.exit_code == 0
        flips = json.loads(done.stdout)["flips"]
        assert {(each["principal"], each["action"], each["after"]) for each in flips} == {
            (who, "volume.read", False) for who in ("owner", "admin", "member", "other")
        }

    def test_a_diff_of_a_model_that_governs_nothing_is_refused(self, file: Path) -> None:
        done = CliRunner().invoke(app, ["model", "diff", "y42", "nekt", str(file)])

        assert done.exit_code == 2
        assert "the access model `y42` governs nothing in" in done.stderr
