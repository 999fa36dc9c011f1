"""The definition of a source: its required fields, and the inputs and outputs that it declares."""

from typing import Any

import pytest
from pydantic import ValidationError

from headgate.pipelines.kinds import declared_io, parse_definition
from tests.pipelines.sources import source, stream


class TestADefinition:
    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"mode": "incremental"}, "but `cursor` is missing"),
            ({"mode": "upsert"}, "but `key` is empty"),
            ({"prefix": "late_", "file": "late.csv"}, "both `file` and `prefix`"),
            ({"file": None}, "neither `file` nor `prefix`"),
            ({"file": "../other.csv"}, "pattern"),
            ({"path": "/../other"}, r"contains `\.\.`"),
            ({"path": "/%2e%2e/other"}, r"contains `\.\.`"),
            ({"path": "/%252e%252e/other"}, r"contains `\.\.`"),
            ({"path": "/..;x/other"}, r"contains `\.\.`"),
            ({"path": "/a?b"}, "pattern"),
            ({"table": "flights"}, "pattern"),
            ({"format": "orc"}, "'csv', 'json', 'json_lines' or 'parquet'"),
            ({"path": "/a", "file": "a.csv"}, "Extra inputs"),
        ],
    )
    def test_a_source_with_an_incomplete_or_invalid_stream_is_refused(self, more: dict[str, Any], said: str) -> None:
        with pytest.raises(ValidationError, match=said):
            parse_definition(source(stream("a", **more)))

    @pytest.mark.parametrize("other", [7, None, "a", ["a"]])
    def test_a_stream_that_is_no_object_is_refused(self, other: object) -> None:
        with pytest.raises(ValidationError):
            parse_definition(source() | {"streams": [other]})

    @pytest.mark.parametrize("other", [stream("a"), stream("b") | {"into": "lake.raw.a"}])
    def test_two_streams_with_the_same_name_or_table_are_refused(self, other: dict[str, Any]) -> None:
        with pytest.raises(ValidationError, match="two streams have the"):
            parse_definition(source(stream("a"), other))

    def test_a_source_declares_its_quarantine_tables(self) -> None:
        found = declared_io(parse_definition(source(stream("a", bad_rows="quarantine"), stream("b", enabled=False))))

        assert [(each.table, each.enabled) for each in found.outputs] == [
            ("lake.raw.a", True),
            ("lake.raw.a_quarantine", True),
            ("lake.raw.b", False),
        ]
        assert found.others == {"connections": ("files",)}

    def test_a_source_without_streams_is_allowed(self) -> None:
        assert declared_io(parse_definition(source())).outputs == ()
