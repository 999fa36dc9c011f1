"""The grid of what each person of the demo could do."""

import pytest

from headgate.cli.demo.attempts import Attempt, Result
from headgate.cli.demo.people import PARTS, Person
from headgate.cli.demo.report import print_grid


def test_the_grid_shows_each_result_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    owner = Person(PARTS[0], "hgt.none", "http://127.0.0.1:1", 0)
    things = [Attempt(title, frozenset({owner.name}), str) for title in ("read", "write", "drop")]
    tried = [
        Result(things[0], owner, allowed=True),
        Result(things[1], owner, allowed=False),
        Result(things[2], owner, allowed=False, broken=True),
    ]

    print_grid([owner], tried)

    printed = capsys.readouterr().out
    assert "[" not in printed
    assert [word for word in ("yes", "no, unexpected", "broke") if word not in printed] == []
