"""All messages of the program are in one file, which a reviewer can read from top to bottom."""

from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from headgate.cli.every_command import app
from tools.docs.message_list import Message, message_list, messages, python_messages, sample, scala_messages

PAGE = Path(__file__).parent / "messages.txt"


def test_the_list_has_every_message(generated: Callable[[Path, str], None]) -> None:
    generated(PAGE, message_list(typer.main.get_command(app)))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('"""A docstring of it."""\nraise StoreError("the log is damaged")', [("StoreError", "the log is damaged")]),
        ('raise StoreError(f"the log {name!r} is damaged")', [("StoreError", "the log {name} is damaged")]),
        (
            'raise StoreError("the log " "is damaged; " f"restore {copy}")',
            [("StoreError", "the log is damaged; restore {copy}")],
        ),
        ('HINT: Final = "restore a copy of it"', [("HINT", "restore a copy of it")]),
        ('def hint():\n    return "restore a copy of it"', [("hint", "restore a copy of it")]),
        ('run("two words")\nexecute("SELECT x FROM the t")\nsql("drop the table")', []),
    ],
)
def test_texts_of_three_words_that_are_no_docstring_are_messages(source: str, found: list[tuple[str, str]]) -> None:
    assert list(python_messages(source)) == found


def test_strings_of_scala_that_are_added_up_are_one_message() -> None:
    source = '/** Not "a message at all". */\nrefuse("the plan is " +\n  s"too large: $size") // nor "a message at all"'

    assert list(scala_messages(source)) == ["the plan is too large: $size"]


def test_strings_in_an_expression_of_a_scala_string_do_not_end_it() -> None:
    source = 'refuse(s"the line `${line.mkString(" ")}` is wrong", "it is not a list")'

    assert list(scala_messages(source)) == [
        'the line `${line.mkString(" ")}` is wrong',
        "it is not a list",
    ]


def test_a_sample_holds_faults_alone_and_is_drawn_by_its_seed() -> None:
    found = [*messages(), Message("a.py", "say", "all is well")]

    drawn = sample(found, 100, 18)

    assert drawn == sample(found, 100, 18)
    assert drawn != sample(found, 100, 19)
    assert len(set(drawn)) == 100
    assert all(each.is_fault for each in drawn)
