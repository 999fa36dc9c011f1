import pytest

from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.decision.conditions import CONDITIONS
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import Diagnostic, ModelError
from headgate.model.language_versions import NEWEST, OLDEST, SINCE, severity_of
from headgate.model.load import diagnose, load_model
from headgate.model.parse_model import MOST_ENTRIES
from tests.control.models.model_files import HARBOUR, harbour

MISSPELT = HARBOUR + "\nneeds:\n  table.select:\n    - when: self.knid is grain\n"


def told(source: str) -> list[Diagnostic]:
    return list(diagnose(source, shipped_vocabulary(), "harbour.yaml", CONDITIONS))


def in_version(source: str, version: object) -> str:
    return source.replace("version: 1\n", f"version: 1\nlanguage: {version}\n", 1)


@pytest.mark.parametrize("version", range(OLDEST, NEWEST + 1))
def test_a_file_of_every_version_of_the_language_can_be_loaded(version: int) -> None:
    found = load_model(in_version(HARBOUR, version), shipped_vocabulary(), "harbour.yaml", CONDITIONS)

    assert found.roles == load_model(HARBOUR, shipped_vocabulary(), "harbour.yaml", CONDITIONS).roles


def test_a_misspelt_attribute_is_a_warning_in_the_first_version_and_an_error_since() -> None:
    severities = [each.severity for source in (in_version(MISSPELT, 1), MISSPELT) for each in told(source)]

    assert severities == ["warning", "error"]
    assert str(told(in_version(MISSPELT, 1))[0]).startswith("harbour.yaml:41:13: warning HG-M210: `self.knid` is not")


def test_a_later_version_of_the_language_is_refused() -> None:
    with pytest.raises(
        ModelError, match=r"harbour\.yaml:3:11: error HG-M110: version `3` of the model language is unknown"
    ):
        load_model(in_version(HARBOUR, NEWEST + 1), shipped_vocabulary(), "harbour.yaml", CONDITIONS)


@pytest.mark.parametrize("version", ["0", "two", "1.5", "[2]"])
def test_a_version_of_the_language_is_a_whole_number(version: str) -> None:
    assert {each.mistake for each in told(in_version(HARBOUR, version))} & {
        DiagnosticCode.NO_NUMBER,
        DiagnosticCode.SHAPE,
    }


def test_a_mistake_without_a_version_has_its_own_severity_in_every_version() -> None:
    for mistake in DiagnosticCode:
        assert severity_of(mistake, NEWEST) == mistake.severity
        assert (severity_of(mistake, OLDEST) == mistake.severity) == (mistake not in SINCE)


def test_a_model_with_too_many_roles_is_refused_at_once() -> None:
    more = "".join(f"  r{number}: {{on: [table], to: [user]}}\n" for number in range(MOST_ENTRIES["roles"]))

    found = told(harbour(1).replace("\nspread:", f"{more}\nspread:"))
    assert [each.mistake for each in found] == [DiagnosticCode.TOO_MANY_ENTRIES]


def test_a_model_with_too_many_settings_is_refused_at_once() -> None:
    rows = "".join(
        f"  s{number}: {{on: table, values: [a, b], default: a}}\n" for number in range(MOST_ENTRIES["settings"] + 1)
    )

    found = told(HARBOUR + f"\nsettings:\n{rows}")
    assert [each.message for each in found] == [
        "`settings` has `201` entries; remove some until there are at most `200`"
    ]


@pytest.mark.parametrize("written", [r"\ud800", r"\e]0;title\a", r"a\nb", r"\u202e", r"a\x9b"])
@pytest.mark.parametrize("place", ["model: harbour", "table: [describe, select]"])
def test_a_word_with_a_control_or_invisible_character_is_refused_and_not_repeated(written: str, place: str) -> None:
    source = HARBOUR.replace(place, f'{place.partition(":")[0]}: "{written}"')

    [found, *_] = told(source)
    assert found.mistake is DiagnosticCode.NOT_YAML
    assert "a word contains a control or invisible character; remove it" in str(found)
    assert str(found).isprintable()


def test_a_long_word_is_refused_and_not_repeated() -> None:
    [found, *_] = told(HARBOUR.replace("model: harbour", f"model: {'x' * 200_000}"))

    assert (
        str(found)
        == "harbour.yaml:1:8: error HG-M001: not valid YAML: a word has more than 5000 characters; shorten it"
    )


def test_a_name_has_at_most_100_characters() -> None:
    assert told(HARBOUR.replace("model: harbour", f"model: {'x' * 100}")) == []
    [found] = told(HARBOUR.replace("model: harbour", f"model: {'x' * 101}"))
    assert found.mistake is DiagnosticCode.BAD_NAME


def test_an_error_lists_a_limited_number_of_mistakes() -> None:
    unknown = ", ".join(f"q{number}" for number in range(1_000))
    source = HARBOUR.replace("table: [describe, select]", f"table: [{unknown}]")

    with pytest.raises(ModelError) as refused:
        load_model(source, shipped_vocabulary(), "harbour.yaml", CONDITIONS)
    assert str(refused.value).splitlines()[-1] == "and 900 more mistakes"
