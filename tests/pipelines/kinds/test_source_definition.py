"""What the definition of a source has to say, and what it declares by that."""

from typing import Any

import pytest
from pydantic import ValidationError

from headgate.pipelines.kinds import declared_io, defined
from tests.pipelines.sources import source, stream


class TestADefinition:
    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"mode": "incremental"}, "needs a `cursor`"),
            ({"mode": "upsert"}, "needs a `key`"),
            ({"prefix": "late_", "file": "late.csv"}, "`file` or `prefix`"),
            ({"file": None}, "`file` or `prefix`"),
            ({"file": "../other.csv"}, "pattern"),
            ({"path": "/../other"}, "leads down"),
            ({"path": "/%2e%2e/other"}, "leads down"),
            ({"path": "/%252e%252e/other"}, "leads down"),
            ({"path": "/..;x/other"}, "leads down"),
            ({"path": "/a?b"}, "pattern"),
            ({"table": "flights"}, "pattern"),
            ({"format": "orc"}, "'csv', 'json', 'json_lines' or 'parquet'"),
            ({"path": "/a", "file": "a.csv"}, "Extra inputs"),
        ],
    )
    def test_says_all_that_its_streams_need(self, more: dict[str, Any], said: str) -> None:
        with pytest.raises(ValidationError, match=said):
            defined(source(stream("a", **more)))

    @pytest.mark.parametrize("other", [7, None, "a", ["a"]])
    def test_refuses_a_stream_that_is_no_object(self, other: object) -> None:
        with pytest.raises(ValidationError):
            defined(source() | {"streams": [other]})

    @pytest.mark.parametrize("other", [stream("a"), stream("b") | {"into": "lake.raw.a"}])
    def test_has_each_stream_and_each_table_once(self, other: dict[str, Any]) -> None:
        with pytest.raises(ValidationError, match="two streams have the"):
            defined(source(stream("a"), other))

    def test_declares_the_tables_of_bad_rows_too(self) -> None:
        found = declared_io(defined(source(stream("a", bad_rows="quarantine"), stream("b", enabled=False))))

        assert [(each.table, each.enabled) for each in found.outputs] == [
            ("lake.raw.a", True),
            ("lake.raw.a_quarantine", True),
            ("lake.raw.b", False),
        ]
        assert found.others == {"connections": ("files",)}

    def test_may_have_no_streams_where_others_read_through_it(self) -> None:
        assert declared_io(defined(source())).outputs == ()
