"""Diagnostics of mistakes in a model file: one diagnostic for each mistake, at its place, with its code."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.decision.conditions import CONDITIONS
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import Diagnostic, ModelError
from headgate.model.load import diagnose, load_model
from tests.fakes.generated_worlds import few
from tests.fakes.small_organization import ACTIONS

HERE = Path(__file__).parent
SHIPPED = ("datamesh", "nekt", "onehouse", "y42")
SMALL = (HERE / "small.yaml").read_text()


class Broken(NamedTuple):
    """An entry of `mistakes.yaml`."""

    mistake: str
    code: str
    at: str
    says: str
    find: str = ""
    put: str = ""
    without: str = ""
    text: str | None = None

    def model(self) -> str:
        if self.text is not None:
            return self.text
        if self.without:
            left, count = re.subn(rf"(?ms)^{self.without}:\n.*?\n(?=\S)", "", SMALL)
            assert count == 1
            return left
        assert SMALL.count(self.find) == 1
        return SMALL.replace(self.find, self.put)


MESSAGES = {each.message for each in DiagnosticCode}
BROKEN = [
    *(Broken(**entry) for entry in yaml.safe_load((HERE / "mistakes.yaml").read_text())),
    Broken(
        "too many roles",
        "HG-M111",
        "22:3",
        "`roles` has `509` entries; remove some until there are at most `500`",
        "\nroles:\n",
        "\nroles:\n" + "".join(f"  r{number}: {{on: [table]}}\n" for number in range(500)),
    ),
]


def told(text: str, file: str = "m.yaml") -> tuple[Diagnostic, ...]:
    return diagnose(text, ACTIONS, file, CONDITIONS)


@cache
def shipped(name: str) -> str:
    models = Path(__file__).resolve().parents[2] / "src" / "headgate" / "model" / "models"
    return (models / f"{name}.yaml").read_text()


class TestAModelWithOneMistake:
    @pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.mistake)
    def test_a_mistake_in_a_model_gives_exactly_its_diagnostic(self, broken: Broken) -> None:
        found = told(broken.model())

        assert [str(each) for each in found] == [
            f"m.yaml:{broken.at}: {each.mistake.severity} {broken.code}: {broken.says}" for each in found[:1]
        ]

    @pytest.mark.parametrize("code", ["HG-M001", "HG-M202", "HG-M601"])
    def test_a_model_with_an_error_is_refused(self, code: str) -> None:
        text = next(broken.model() for broken in BROKEN if broken.code == code)

        with pytest.raises(ModelError) as error:
            load_model(text, ACTIONS, "m.yaml", CONDITIONS)

        assert error.value.diagnostics == told(text)

    def test_a_model_with_only_a_warning_is_loaded(self) -> None:
        warnings = {each.code for each in DiagnosticCode if each.severity == "warning"}

        for text in (broken.model() for broken in BROKEN if broken.code in warnings):
            assert load_model(text, ACTIONS, "m.yaml", CONDITIONS).version == 1

    def test_the_corpus_has_a_mistake_for_every_diagnostic_code_of_a_model(self) -> None:
        of_the_vocabulary = {DiagnosticCode.EMPTY_CELL}

        assert {broken.code for broken in BROKEN} == {
            each.code for each in DiagnosticCode if each not in of_the_vocabulary
        }

    def test_a_model_without_a_mistake_has_no_diagnostics(self) -> None:
        assert told(SMALL) == ()


class TestAModelWithSeveralMistakes:
    def test_every_mistake_in_a_model_is_reported_in_the_order_of_the_file(self) -> None:
        text = SMALL.replace("includes: [viewer]", "includes: [veiwer]").replace("newcomer: member", "newcomer: guest")

        assert [each.message for each in told(text)] == ["unknown role `veiwer`", "unknown role `guest`"]

    def test_a_mistake_that_repeats_is_reported_once(self) -> None:
        text = SMALL.replace("  viewer:\n", "  reader:\n")

        [found] = told(text)

        assert found.message == f"unknown role `viewer` ({text.count('viewer') - 1} more occurrences below)"


class TestAMessage:
    @pytest.mark.parametrize("message", sorted({*MESSAGES, *(each.says for each in BROKEN)}), ids=repr)
    def test_a_message_is_one_line_that_begins_in_lower_case_without_a_full_stop(self, message: str) -> None:
        assert message[0].islower() or message[0] in "`{"
        assert message[-1] not in ".!"
        assert "\n" not in message

    @pytest.mark.parametrize("message", sorted(MESSAGES), ids=repr)
    def test_a_message_quotes_the_words_of_the_user_in_backticks(self, message: str) -> None:
        sentences = {
            "problem",
            "what",
            "expected",
            "found",
            "types",
            "kinds",
            "places",
            "origins",
            "roles",
            "actions",
            "owners",
            "sort",
        }

        for word in re.findall(r"\{(\w+)\}", message):
            assert word in sentences or re.search(rf"`[^`]*\{{{word}\}}[^`]*`", message), word

    def test_every_diagnostic_has_a_code_of_its_own(self) -> None:
        codes = [each.code for each in DiagnosticCode]

        assert codes == sorted(set(codes))
        assert all(re.fullmatch("HG-M[0-9]{3}", code) for code in codes)


class TestAShippedModel:
    @pytest.mark.parametrize("name", SHIPPED)
    def test_a_shipped_model_has_no_error(self, name: str) -> None:
        assert [each for each in told(shipped(name)) if each.mistake.severity == "error"] == []

    @settings(few, max_examples=25)
    @given(st.sampled_from(SHIPPED), st.data())
    def test_one_misspelt_word_in_a_model_gives_at_most_one_error(self, name: str, data: st.DataObject) -> None:
        """A typing error gives one diagnostic, not a cascade."""
        text = shipped(name)
        words = list(re.finditer(r"\b[A-Za-z_]{4,}\b", re.sub(r"#.*", lambda it: " " * len(it[0]), text)))
        word = data.draw(st.sampled_from(words))

        found = told(f"{text[: word.end() - 1]}q{text[word.end() - 1 :]}")

        assert len([each for each in found if each.mistake.severity == "error"]) <= 1

    @settings(few, max_examples=25)
    @given(st.sampled_from(SHIPPED), st.data())
    def test_a_damaged_model_gives_diagnostics_with_places(self, name: str, data: st.DataObject) -> None:
        """For every text, the result is a list of diagnostics with places in the text."""
        text = shipped(name)
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 60)))
        damaged = text[:start] + data.draw(st.text(max_size=5)) + text[end:]

        found = told(damaged)

        assert all(1 <= each.line <= damaged.count("\n") + 2 and each.column >= 1 for each in found)
        assert found == told(damaged)
