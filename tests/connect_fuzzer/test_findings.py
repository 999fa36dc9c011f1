"""What the fuzzer looks for is seen where it is there."""

import socket
from pathlib import Path

import grpc
import pytest

from tests.app.serving import until
from tests.connect_fuzzer.canaries import watched
from tests.connect_fuzzer.fuzzer import Finding, Oracle, Report
from tests.gateway.hostile_client import Answer

ORACLE = Oracle({b"marked17": "marked rows"})
DENIED, UNKNOWN = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNKNOWN


@pytest.mark.parametrize(
    "answer",
    [
        Answer(grpc.StatusCode.OK, "", [b"x", b"a row with marked17 in it"]),
        Answer(DENIED, "there is no marked17"),
        Answer(DENIED, "no", [], b"details with marked17"),
    ],
)
def test_a_marker_is_seen_in_rows_texts_and_details(answer: Answer) -> None:
    assert ORACLE.fault(answer) == "an answer has marked rows"


def test_an_error_of_the_gateways_own_is_seen_and_a_refusal_is_none() -> None:
    assert "KeyError" in ORACLE.fault(Answer(UNKNOWN, "Unexpected <class 'KeyError'>: 3"))
    assert ORACLE.fault(Answer(DENIED, "you may not do this")) == ""


def test_an_opened_file_a_listed_folder_and_a_connection_are_seen_once(tmp_path: Path) -> None:
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    file = tmp_path / "home" / ".ssh" / "id_rsa"
    file.write_text("secret", encoding="utf-8")
    with watched({tmp_path / "home": "a home folder"}) as canaries:
        assert canaries.touched() == set()
        file.read_text(encoding="utf-8")
        assert canaries.touched() == {"a home folder"}
        assert canaries.touched() == set()
        assert list(file.parent.iterdir())
        assert canaries.touched() == {"a home folder"}
        socket.create_connection(("127.0.0.1", canaries.port), 5).close()
        assert until(canaries.touched, lambda: "the connection is not seen") == {"the port"}


def test_the_report_shows_each_kind_once_with_how_often_it_was_found() -> None:
    report = Report(3, findings=[Finding("a"), Finding("b", detail="first of b"), Finding("b", detail="second of b")])

    assert str(report) == "3 mutants (), 3 findings of 2 kinds"
    assert report.described().startswith("2 times: b\nfirst of b")
    assert "second of b" not in report.described()
