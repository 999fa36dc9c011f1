"""Numbers on the command line that are not finite."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from headgate.cli.every_command import app
from headgate.cli.finite_numbers import parse_json


def float_options(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield every option of type `float` behind the words of its command."""
    for name, each in getattr(command, "commands", {}).items():
        yield from float_options(each, *path, name)
    for each in command.params:
        if each.type_descriptor is not None and each.type_descriptor.annotation is float:
            yield (*path, each.opts[0])


REQUIRED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("break-glass", "grant"): ("ann", "--organization", "main", "--reason", "x")
}
"""What a command needs besides the option."""

OPTIONS = list(float_options(typer.main.get_command(app)))


def test_the_command_line_has_options_of_type_float() -> None:
    assert ("token", "create", "--days") in OPTIONS
    assert ("break-glass", "grant", "--hours") in OPTIONS


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999"])
@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_an_option_that_is_not_finite_is_refused(words: tuple[str, ...], number: str) -> None:
    refused = CliRunner().invoke(app, [*words[:-1], f"{words[-1]}={number}", *REQUIRED.get(words[:-1], ())])

    assert refused.exit_code == 2
    assert f"Invalid value for '{words[-1]}'" in refused.stderr


def test_a_refused_number_says_what_to_write() -> None:
    refused = CliRunner().invoke(app, ["token", "create", "--days", "nan"])

    assert "`nan` is not a finite number; write a number such as 1.5" in refused.stderr


@pytest.mark.parametrize("text", ["NaN", "[1, -Infinity]", '{"a": 1e999}', "nan"])
def test_a_json_text_with_a_number_that_is_not_finite_is_not_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_a_json_text_with_finite_numbers_is_read() -> None:
    assert parse_json('{"a": [1, 1.5, true, null, "NaN"]}') == {"a": [1, 1.5, True, None, "NaN"]}
