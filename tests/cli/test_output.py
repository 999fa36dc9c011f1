"""What the command line prints."""

import pytest

from headgate.cli.output import table, when


def test_a_table_that_no_terminal_shows_has_every_cell_in_full_on_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    table(("id", "label"), [("t-" + "a" * 60, "a label of several words " * 5)])

    _, row = capsys.readouterr().out.splitlines()
    assert row.rstrip() == f"t-{'a' * 60}  {'a label of several words ' * 5}".rstrip()


@pytest.mark.parametrize(("seconds", "written"), [(None, ""), (0.5, "1970-01-01 00:00:00+00:00")])
def test_a_time_is_written_as_people_read_it(seconds: float | None, written: str) -> None:
    assert when(seconds) == written
