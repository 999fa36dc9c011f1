r"""The driver's log escapes control characters of rows and names as `\x1b`, by the rule of the API's logs."""

from pathlib import Path

import pytest

from headgate.control.text.terminal_text import terminal_text
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.driver_harness import ADMIN, DriverHarness
from tests.spark.guard.programs import run_program

pytestmark = pytest.mark.spark

EVERY_CHARACTER = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000)]))
PROGRAM = r"""
object Printed extends App {
  val text = java.nio.file.Files.readAllBytes(java.nio.file.Path.of(args(0)))
  io.headgate.guard.driver.TerminalStream.install()
  for (piece <- text.grouped(7)) System.out.write(piece, 0, piece.length)
  System.out.flush()
}
"""


def test_the_driver_logs_every_character_as_the_api_does(toolchain: Toolchain, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text(EVERY_CHARACTER, encoding="utf-8", newline="")

    said = run_program(toolchain, tmp_path, PROGRAM, "Printed", argument=str(text))

    assert said == terminal_text(EVERY_CHARACTER)


def test_control_characters_of_a_row_are_escaped_in_the_log_of_the_driver(lake: DriverHarness) -> None:
    value = "\x1b]0;title\x07\n\u202eforged"
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        lake.session(ADMIN).sql(
            "SELECT CAST(concat(v, carrier) AS INT) FROM lake.raw.flights CROSS JOIN (VALUES (:value)) AS t(v)",
            {"value": value},
        ).collect()

    log = lake.log()
    assert r"\x1b]0;title\x07" in log
    assert not set(log) & {"\x1b", "\x07", "\u202e"}
    assert "forged" in log
    assert not any(line.startswith(("forged", r"\u202eforged")) for line in log.splitlines())
