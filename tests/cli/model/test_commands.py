"""`headgate model check`, `fmt` and `docs` on files."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.every_command import app

SMALL = (Path(__file__).parents[2] / "model" / "small.yaml").read_text()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    return file


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["model", *map(str, words)])


class TestCheck:
    def test_model_check_finds_nothing_in_a_model_without_mistakes(self, file: Path) -> None:
        result = run("check", file)

        assert (result.exit_code, result.output) == (0, "1 checked, 0 errors, 0 warnings\n")

    def test_model_check_prints_every_error_with_its_position_and_exits_with_1(self, file: Path) -> None:
        file.write_text(SMALL.replace("newcomer: member", "newcomer: guest"))

        result = run("check", file)

        assert result.exit_code == 1
        assert f"{file}:125:11: error HG-M202: unknown role `guest`; choose from `owner`" in result.output

    def test_model_check_exits_with_0_for_warnings(self, file: Path) -> None:
        file.write_text(SMALL.replace("setting.strict is false, ", ""))

        result = run("check", file)

        assert result.exit_code == 0
        assert result.output.endswith("1 checked, 0 errors, 1 warnings\n")

    def test_model_check_exits_with_2_for_a_missing_file(self, tmp_path: Path) -> None:
        assert run("check", tmp_path / "none.yaml").exit_code == 2


class TestFmt:
    def test_model_fmt_leaves_a_formatted_file_unchanged(self, file: Path) -> None:
        run("fmt", file)
        before = file.read_text()

        assert (run("fmt", file).output, run("fmt", "--check", file).exit_code) == ("", 0)
        assert file.read_text() == before

    def test_model_fmt_formats_a_file(self, file: Path) -> None:
        file.write_text("model:   small\nversion: 1   # one\n")

        result = run("fmt", file)

        assert (result.exit_code, result.output) == (0, f"{file} was formatted\n")
        assert file.read_text() == "model: small\nversion: 1   # one\n"

    def test_model_fmt_with_check_reports_a_file_and_does_not_change_it(self, file: Path) -> None:
        file.write_text("model:   small\n")

        result = run("fmt", "--check", file)

        assert (result.exit_code, result.output) == (1, f"{file} is not formatted\n")
        assert file.read_text() == "model:   small\n"

    def test_model_fmt_refuses_a_file_that_is_no_yaml(self, file: Path) -> None:
        file.write_text("model: [small\n")

        assert run("fmt", file).exit_code == 2
        assert file.read_text() == "model: [small\n"


class TestDocs:
    def test_model_document_writes_the_page_of_a_model_file(self, file: Path, tmp_path: Path) -> None:
        page = tmp_path / "small.md"

        assert run("document", file, "--output-file", page).exit_code == 0
        assert page.read_text().startswith("# The model `small`\n")

    def test_model_document_exits_with_1_for_an_invalid_model_file(self, file: Path) -> None:
        file.write_text("model: small\n")

        assert run("document", file).exit_code == 1

    def test_model_document_names_a_folder_that_does_not_exist(self, tmp_path: Path) -> None:
        result = run("document", "names", "--output-file", tmp_path / "none" / "x.md")

        assert result.exit_code == 2
        assert (
            result.output == f"headgate: there is no folder `{tmp_path}/none`; create the folder, or correct the path\n"
        )

    def test_model_document_does_not_write_to_a_folder(self, tmp_path: Path) -> None:
        result = run("document", "names", "--output-file", tmp_path)

        assert result.exit_code == 2
        assert result.output == f"headgate: `{tmp_path}` is a folder; add the name of a file to the path\n"
