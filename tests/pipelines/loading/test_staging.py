"""Records of an API staged as JSON lines: values unchanged, about the same size, and bounded by the free disk space."""

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.pipelines.files import disk_space
from headgate.pipelines.load_errors import LoadError
from headgate.pipelines.loading import staging
from headgate.pipelines.loading.paging import Answer
from headgate.pipelines.loading.staging import stage


def answer(*records: Any) -> Answer:
    """Return one page with these records."""
    return Answer(None, list(records), None)


def test_every_record_is_staged_as_one_line_with_its_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "PIECE", 20)
    records = [{"a": "é\n\u2028"}, {"a": "\ud800 half"}, {"a": [1, 2.5, None]}, 7, {"b\udfff": "\U0001f600"}]

    assert stage([answer(*records[:2]), answer(), answer(*records[2:])], tmp_path / "new") == len(records)

    lines = (tmp_path / "new" / "records.jsonl").read_bytes().decode().split("\n")
    assert lines.pop() == ""
    assert [json.loads(line) for line in lines] == records


def test_staged_records_need_no_more_bytes_than_the_answer(tmp_path: Path) -> None:
    came = json.dumps({"a": "é" * 1000, "b": [1, 2, 3]}, ensure_ascii=False)

    stage([answer(json.loads(came))], tmp_path / "new")

    assert (tmp_path / "new" / "records.jsonl").stat().st_size <= len(came.encode()) + 1


def test_records_that_the_disk_cannot_hold_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_space, "_LEFT_FREE", 1 << 62)

    with pytest.raises(LoadError, match="disk has no space"):
        stage([answer({"a": 1})], tmp_path / "new")

    assert (tmp_path / "new" / "records.jsonl").stat().st_size == 0
