"""Formats of the log: lines for people, or one JSON object a line for programs."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.app.logs import log_to

log = logging.getLogger("headgate.tests")


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("logThreads", "logProcesses", "logMultiprocessing", "_srcfile"):
        monkeypatch.setattr(logging, name, getattr(logging, name))
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def written(form: str, level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    log_to(form, level, stream)
    return stream


class TestJson:
    def test_a_json_log_has_one_line_with_fields_for_each_record(self) -> None:
        stream = written("json")

        log.info("answered", extra={"fields": {"status": 200, "principal": None}})

        (line,) = map(json.loads, stream.getvalue().splitlines())
        assert line.pop("at").endswith("Z")
        assert line == {
            "level": "info",
            "logger": "headgate.tests",
            "message": "answered",
            "status": 200,
            "principal": None,
        }

    def test_a_json_log_writes_an_error_with_line_breaks_in_one_line(self) -> None:
        stream = written("json")

        log.error("it\nfailed", exc_info=LookupError("a\nb"))

        (line,) = map(json.loads, stream.getvalue().splitlines())
        assert line["message"] == "it\nfailed"
        assert "LookupError: a\nb" in line["error"]

    def test_a_json_log_escapes_control_characters(self) -> None:
        stream = written("json")

        log.info("`%s`", "\x1b[2J\x9b2J\u202e", exc_info=LookupError("\x9b\u202e"))

        assert stream.getvalue().isascii()
        (line,) = map(json.loads, stream.getvalue().splitlines())
        assert line["message"] == "`\x1b[2J\x9b2J\u202e`"

    def test_a_json_log_loses_no_record_with_unusual_values(self) -> None:
        stream = written("json")

        log.info("\udcff", extra={"fields": {"at": Path("/a"), "large": 2**70}})

        (line,) = map(json.loads, stream.getvalue().splitlines())
        assert (line["message"], line["at"], line["large"]) == ("\udcff", "/a", 2**70)


class TestText:
    def test_a_text_log_writes_the_fields_that_have_values(self) -> None:
        stream = written("text")

        log.info("answered", extra={"fields": {"status": 200, "principal": None}})

        assert stream.getvalue().endswith("Z INFO    headgate.tests: answered status=200\n")

    def test_a_text_log_writes_a_message_with_line_breaks_in_one_line(self) -> None:
        stream = written("text")

        log.info("`%s`", "a\n2026 INFO forged\x1b[2J\u2028")

        assert len(stream.getvalue().splitlines()) == 1
        assert "\x1b" not in stream.getvalue()

    def test_a_text_log_escapes_control_characters_of_an_error(self) -> None:
        stream = written("text")

        log.error("`%s`", "\u202e", exc_info=LookupError("\x1b[2J\x9b2J"))

        assert r"LookupError: \x1b[2J\x9b2J" in stream.getvalue()
        assert stream.getvalue().isascii()


class TestTheLevel:
    def test_records_below_the_log_level_are_not_written(self) -> None:
        stream = written("text", "warning")

        log.info("unheard")
        log.warning("heard")

        assert "unheard" not in stream.getvalue()
        assert "heard" in stream.getvalue()
