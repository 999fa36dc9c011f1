"""`headgate facts` on a facts file: answers, reasons, what would follow, as of when; and what cannot be asked."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headgate.cli import app
from headgate.facts.changes import Change, PrincipalExpires, TokenIssued
from headgate.facts.encoding import encode
from headgate.facts.ids import TokenId
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
    def test_exits_with_0_for_allow_and_1_for_deny(self, ask: Ask) -> None:
        allowed = ask("check", "table.select", "lake.raw.flights", "--subject", MEMBER)
        denied = ask("check", "table.insert", "lake.raw.flights", "--subject", MEMBER)

        assert (allowed.exit_code, denied.exit_code) == (0, 1)
        assert allowed.output == "allow: member, table.select on lake.raw.flights (nekt 3, revision 4)\n"
        assert denied.output.startswith("deny: ")

    @pytest.mark.parametrize("engine", ["engine", "reference"])
    def test_is_answered_alike_by_the_engine_and_the_reference(self, ask: Ask, engine: str) -> None:
        result = ask("check", "table.select", FLIGHTS, "--subject", MEMBER, "--engine", engine, "--json")

        assert answer(result)["allowed"] is True

    def test_takes_the_resources_that_a_question_also_concerns(self, ask: Ask) -> None:
        words = ("project.create_query", "project", "--subject", OTHER, "--related", "output_layers=lake.raw")

        assert ask("check", *words, "--related", "inputs=lake.raw.flights,lake.raw.planes").exit_code == 0
        assert ask("check", *words, "--related", "inputs=lake.raw.flights,lake.secret.salaries").exit_code == 1

    def test_takes_what_an_assignment_is_about(self, ask: Ask) -> None:
        words = ("assignment.add", "lake.raw", "--assignee", MEMBER, "--role", "editor")

        assert ask("check", *words, "--subject", "admin").exit_code == 0
        assert ask("check", *words, "--subject", OTHER).exit_code == 1

    def test_asks_as_a_token_too(self, tmp_path: Path) -> None:
        token = TokenIssued(TokenId("narrow"), MEMBER, None, (PLANES,))
        file = written(tmp_path, token)

        assert asked("check", file, "table.select", PLANES, "--subject", "narrow").exit_code == 0
        assert asked("check", file, "table.select", FLIGHTS, "--subject", "narrow").exit_code == 1

    def test_is_asked_at_another_time(self, tmp_path: Path) -> None:
        file = written(tmp_path, PrincipalExpires(MEMBER, 86_400.0 * 2))
        words = ("table.select", FLIGHTS, "--subject", MEMBER, "--at")

        assert asked("check", file, *words, "1970-01-02").exit_code == 0
        assert asked("check", file, *words, "1970-01-03T00:00:00Z").exit_code == 1
        assert asked("check", file, *words, "+1d", "--revision", "5").exit_code == 0
        assert asked("check", file, *words, "+2d", "--revision", "5").exit_code == 1

    def test_is_asked_as_of_a_revision(self, ask: Ask) -> None:
        words = ("table.select", FLIGHTS, "--subject", MEMBER, "--revision")

        assert ask("check", *words, "3").exit_code == 0
        assert ask("check", *words, "2").exit_code == 1

    def test_is_asked_under_a_model_of_ones_own(self, ask: Ask, tmp_path: Path) -> None:
        model = tmp_path / "own.yaml"
        editors_only = NEKT.replace("table: [describe, select]", "table: [describe]")
        model.write_text(editors_only.replace("table: [insert,", "table: [select, insert,"))

        assert ask("check", "table.select", FLIGHTS, "--subject", MEMBER, "--model-file", str(model)).exit_code == 1


class TestWhatCannotBeAsked:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("table.selct", FLIGHTS, "--subject", MEMBER), "no model in force has an action `table.selct`; did you mean `table.select`?"),
            (("table.select", "lake.raw.flight", "--subject", MEMBER), "there is no resource `lake.raw.flight`; did you mean `lake.raw.flights`?"),
            (("table.select", FLIGHTS, "--subject", "membre"), "there is nobody of the id `membre`; did you mean `member`?"),
            (("table.select", FLIGHTS, "--subject", MEMBER, "--role", "viewr"), "no model in force has a role `viewr`; did you mean `viewer`?"),
            (("table.select", FLIGHTS, "--subject", MEMBER, "--context", "kind"), "`kind` is no parameter; write `WHAT=VALUE`"),
            (("table.select", FLIGHTS, "--subject", MEMBER, "--at", "soon"), "`soon` is no time"),
            (("table.select", FLIGHTS, "--subject", MEMBER, "--revision", "9"), "there is no revision 9 yet; the newest is 4"),
            (("table.select", FLIGHTS, "--subject", MEMBER, "--model-file", "none.yaml"), "a file cannot be read"),
        ],
    )  # fmt: skip
    def test_is_one_sentence_and_exit_code_2(self, ask: Ask, words: tuple[str, ...], message: str) -> None:
        result = ask("check", *words)

        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith(f"headgate: {message}")

    def test_is_a_file_that_is_no_facts_file(self, tmp_path: Path) -> None:
        file = tmp_path / "facts.jsonl"
        file.write_text("{}\n")

        result = asked("list-resources", file, "table.select", "--subject", MEMBER)

        assert result.exit_code == 2
        assert "line 1: this is no facts file" in result.stderr

    def test_is_a_past_whose_model_is_not_here(self, file: Path) -> None:
        text = file.read_text()
        hash = json.loads(text.splitlines()[2])["model_hash"]
        file.write_text(text.replace(hash, "another"))
        words = ("table.select", FLIGHTS, "--subject", MEMBER)

        past, now = asked("check", file, *words, "--revision", "3"), asked("check", file, *words)

        assert past.exit_code == 2
        assert "the source of the model `nekt` that was in force at revision 3 is not here" in past.stderr
        assert now.exit_code == 0
        assert "another source of the model `nekt`" in now.stderr

    def test_is_an_end_whose_entries_nobody_tells_apart(self, file: Path) -> None:
        lines = [line for line in file.read_text().splitlines() if '"entry"' not in line]
        file.write_text("\n".join(lines))
        words = ("table.select", FLIGHTS, "--subject", MEMBER)

        assert asked("check", file, *words).exit_code == 0
        assert "revision 3 is not told apart" in asked("check", file, *words, "--revision", "3").stderr
        assert "nobody says when revision 4 was written" in asked("check", file, *words, "--revision", "4").stderr


class TestListAndWho:
    def test_list_shows_where_somebody_may(self, ask: Ask) -> None:
        assert (
            ask("list-resources", "table.select", "--subject", MEMBER).output == "lake.raw.flights\nlake.raw.planes\n"
        )

    def test_who_shows_everybody_who_may(self, ask: Ask) -> None:
        assert ask("list-principals", "table.insert", "lake.raw.flights").output == "admin\nother\nowner\n"

    @pytest.mark.parametrize("engine", ["engine", "reference"])
    def test_both_agree_as_json(self, ask: Ask, engine: str) -> None:
        options = ("--json", "--engine", engine)
        listed = answer(ask("list-resources", "table.select", "--subject", OTHER, *options))

        for each in listed:
            assert OTHER in answer(ask("list-principals", "table.select", each["resource"], *options))
        assert [each["name"] for each in listed] == ["lake.raw.flights", "lake.raw.planes"]


class TestExplain:
    def test_shows_every_path_of_an_allow(self, tmp_path: Path) -> None:
        file = written(tmp_path, assigned(MEMBER, "editor", FLIGHTS))

        result = asked("explain", file, "table.select", FLIGHTS, "--subject", MEMBER)

        assert result.exit_code == 0
        assert result.output.splitlines()[1:] == [
            "├── member was assigned editor on lake.raw.flights, which gives viewer",
            "└── member was assigned viewer on lake.raw",
        ]

    def test_shows_each_of_the_weakest_tables_of_a_pipeline(self, ask: Ask) -> None:
        result = ask("explain", "query.describe", "delays", "--subject", MEMBER)

        assert result.output.splitlines()[1:] == [
            "├── member was assigned viewer on lake.raw (the weakest of what it touches: lake.raw.flights)",
            "└── member was assigned viewer on lake.raw (the weakest of what it touches: lake.raw.planes)",
        ]

    def test_shows_what_is_missing_and_who_could_give_it(self, ask: Ask) -> None:
        result = ask("explain", "query.trigger", "delays", "--subject", MEMBER)

        assert result.exit_code == 1
        assert result.output.splitlines()[1:] == [
            "├── member does not hold `editor` on `delays`",
            "└── it would be allowed with",
            "    ├── editor on lake.raw.flights for member, which admin or owner can give",
            "    └── editor on lake.raw.planes for member, which admin or owner can give",
        ]

    def test_says_where_nothing_that_could_be_assigned_helps(self, ask: Ask) -> None:
        result = ask("explain", "group.delete", "All", "--subject", "owner")

        assert result.output.splitlines()[1:] == [
            "├── the access model asks that `self.built_in is not true`, and that is not so",
            "└── nothing that anybody could assign would change that",
        ]

    @pytest.mark.parametrize("options", [(), ("--json",)])
    def test_tells_of_a_hidden_name_what_it_tells_of_a_missing_one(self, ask: Ask, options: tuple[str, ...]) -> None:
        hidden = ask("explain", "table.select", "lake.secret.salaries", "--subject", MEMBER, *options)
        missing = ask("explain", "table.select", "lake.secret.nosuchit", "--subject", MEMBER, *options)

        assert hidden.exit_code == missing.exit_code == 1
        assert hidden.output.replace("salaries", "nosuchit") == missing.output
        assert "owner" not in hidden.output.replace("ask an owner or admin", "")

    def test_tells_everything_when_asked_to(self, ask: Ask) -> None:
        result = ask("explain", "table.select", "lake.secret.salaries", "--subject", "stranger", "--reveal", "--json")

        [fix] = answer(result)["fixes"]
        assert fix == {
            "subject": "stranger",
            "assignments": [
                {"role": "member", "resource": "organization", "approvers": ["admin", "owner"]},
                {"role": "viewer", "resource": "lake.secret.salaries", "approvers": ["admin", "owner"]},
            ],
        }
        assert ask("explain", "table.select", "nowhere", "--subject", MEMBER, "--reveal").exit_code == 2

    def test_prints_the_same_as_json(self, ask: Ask) -> None:
        found = answer(ask("explain", "table.select", FLIGHTS, "--subject", MEMBER, "--json"))

        assert [(each["assigned_role"], each["assigned_on"]) for each in found["paths"]] == [("viewer", "lake.raw")]
        assert (found["missing"], found["fixes"]) == (None, [])


def proposed(folder: Path, *changes: Change) -> Path:
    file = folder / "changes.jsonl"
    file.write_text("".join(f"{json.dumps(encode(change))}\n" for change in changes))
    return file


class TestWhatIf:
    def test_shows_who_loses_what_and_which_pipelines_break(self, ask: Ask, tmp_path: Path) -> None:
        changes = tmp_path / "changes.jsonl"
        changes.write_text('\n{"change": "RoleRevoked", "subject": "other", "role": "editor", "resource": "raw"}\n')

        result = ask("what-if", changes)

        assert result.exit_code == 0
        assert result.output.splitlines()[-1].endswith("pipelines that break: 1, that open: 0")
        assert "2 of type table: lake.raw.flights, lake.raw.planes" in result.output

    def test_shows_each_decision_as_json(self, ask: Ask, tmp_path: Path) -> None:
        found = answer(ask("what-if", proposed(tmp_path, assigned(MEMBER, "viewer", SECRET)), "--json"))

        flip = {"principal": "member", "action": "table.select", "resource": "lake.secret.salaries"}
        assert {**flip, "before": False, "after": True} in found["flips"]
        assert {each["principal"] for each in found["people"]} == {"member"}
        assert found["pipelines"] == []

    def test_of_nothing_is_nothing(self, ask: Ask, tmp_path: Path) -> None:
        result = ask("what-if", proposed(tmp_path, assigned(MEMBER, "viewer", RAW)))

        assert result.output.startswith("decisions that flip: 0 ")

    def test_cannot_be_of_what_is_no_change(self, ask: Ask, tmp_path: Path) -> None:
        changes = tmp_path / "changes.jsonl"
        changes.write_text('{"change": "Unheard"}\n')
        assert "line 1: there is no change of type `Unheard`" in ask("what-if", changes).stderr

        changes.write_text('{"change": "ResourceDeleted", "resource": "t"}\n{"change": "RoleRevoked"}')
        assert ask("what-if", changes).exit_code == 2

    def test_cannot_be_about_what_is_not_there(self, ask: Ask, tmp_path: Path) -> None:
        changes = tmp_path / "changes.jsonl"
        changes.write_text('{"change": "PrincipalExpires", "principal": "nobody", "ends": 1}\n')

        result = ask("what-if", changes)

        assert result.exit_code == 2
        assert "is about `nobody`, which is not there" in result.stderr


class TestTheDifference:
    def test_from_an_earlier_revision_is_what_was_decided_otherwise_then(self, ask: Ask) -> None:
        found = answer(ask("diff", "2", "--json"))

        assert {each["principal"] for each in found["flips"]} == {"member", "other"}
        assert all(each["after"] for each in found["flips"])

    def test_of_two_models_is_what_the_new_one_decides_otherwise(self, file: Path, tmp_path: Path) -> None:
        stricter = tmp_path / "strict.yaml"
        stricter.write_text(
            NEKT.replace("model: nekt", "model: strict").replace("volume: [describe, read]", "volume: [describe]")
        )

        done = CliRunner().invoke(app, ["model", "diff", "nekt", str(stricter), str(file), "--json"])

        assert done.exit_code == 0
        flips = json.loads(done.stdout)["flips"]
        assert {(each["principal"], each["action"], each["after"]) for each in flips} == {
            (who, "volume.read", False) for who in ("owner", "admin", "member", "other")
        }

    def test_of_a_model_that_governs_nothing_cannot_be_said(self, file: Path) -> None:
        done = CliRunner().invoke(app, ["model", "diff", "y42", "nekt", str(file)])

        assert done.exit_code == 2
        assert "the model `y42` governs nothing in these facts; they know nekt" in done.stderr
