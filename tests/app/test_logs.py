"""What is logged can be read: by people as lines, by programs as one JSON object a line."""

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
    def test_has_a_line_for_each_with_its_fields(self) -> None:
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

    def test_keeps_an_error_and_a_line_break_in_one_line(self) -> None:
        stream = written("json")

        log.error("it\nfailed", exc_info=LookupError("a\nb"))

        (line,) = map(json.loads, stream.getvalue().splitlines())
        assert line["message"] == "it\nfailed"
        assert "LookupError: a\nb" in line["error"]

    def test_writes_control_characters_out(self) -> None:
        stream = written("json")

        log.info("`%s`", "\x1b[2J\x9b2J\u202e", exc_info=LookupError("\x9b\u202e"))

        assert stream.getvalue().isascii()
        (line,) = map(json.loads, stream.getvalue().splitlines())
        assert line["message"] == "`\x1b[2J\x9b2J\u202e`"

    def test_loses_no_line_for_what_is_in_it(self) -> None:
        stream = written("json")

        log.info("\udcff", extra={"fields": {"at": Path("/a"), "large": 2**70}})

        (line,) = map(json.loads, stream.getvalue().splitlines())
        assert (line["message"], line["at"], line["large"]) == ("\udcff", "/a", 2**70)


class TestText:
    def test_says_what_there_is_to_say(self) -> None:
        stream = written("text")

        log.info("answered", extra={"fields": {"status": 200, "principal": None}})

        assert stream.getvalue().endswith("Z INFO    headgate.tests: answered status=200\n")

    def test_cannot_be_made_to_look_like_two_lines(self) -> None:
        stream = written("text")

        log.info("`%s`", "a\n2026 INFO forged\x1b[2J\u2028")

        assert len(stream.getvalue().splitlines()) == 1
        assert "\x1b" not in stream.getvalue()

    def test_writes_control_characters_of_an_error_out(self) -> None:
        stream = written("text")

        log.error("`%s`", "\u202e", exc_info=LookupError("\x1b[2J\x9b2J"))

        assert r"LookupError: \x1b[2J\x9b2J" in stream.getvalue()
        assert stream.getvalue().isascii()


class TestTheLevel:
    def test_is_the_least_that_is_written(self) -> None:
        stream = written("text", "warning")

        log.info("unheard")
        log.warning("heard")

        assert "unheard" not in stream.getvalue()
        assert "heard" in stream.getvalue()
