"""Howtos are executed: their files are written, their commands run, and the output is that of the document."""

from pathlib import Path

import pytest

from tests.repo.sessions import BLOCK, Step, ran, session

HOWTOS = sorted((Path(__file__).resolve().parents[2] / "docs" / "howto").glob("*.md"))


@pytest.mark.parametrize("howto", HOWTOS, ids=lambda howto: howto.stem)
def test_a_howto_works_as_it_says(howto: Path, tmp_path: Path) -> None:
    for _, run, file, body in BLOCK.findall(howto.read_text(encoding="utf-8")):
        if not run:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(body, encoding="utf-8")
            continue
        for step in session(body):
            found = ran(step.command, tmp_path)

            assert step.matches(found.stdout), f"$ {step.command}\n{found.stdout}"
            assert found.returncode == step.code, f"$ {step.command}\n{found.stdout}"


class TestASession:
    def test_a_session_is_commands_with_their_output(self) -> None:
        assert list(session("$ one\na\nb\n$ two  # exit code 3\n")) == [
            Step("one", ("a", "b")),
            Step("two  # exit code 3", ()),
        ]

    def test_a_session_says_with_which_exit_code_a_command_ends(self) -> None:
        assert [step.code for step in session("$ one\n$ two  # exit code 3\n")] == [0, 3]

    def test_a_session_can_leave_lines_out(self) -> None:
        [step] = session("$ one\na\n...\nz\n")

        assert step.matches("a\nb\nc\nz\n")
        assert not step.matches("a\nb\nc\n")
        assert not step.matches("b\nz\n")

    def test_a_session_can_leave_the_rest_of_a_line_out(self) -> None:
        [step] = session("$ one\na ...\nz\n")

        assert step.matches("a b c\nz\n")
        assert not step.matches("a\nz\n")
        assert not step.matches("a b\nc\nz\n")
