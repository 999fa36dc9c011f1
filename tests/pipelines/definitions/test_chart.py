"""The specification of a chart: bounded, and without characters that make the drawing library end its process."""

import json

import pytest

from headgate.pipelines.definitions.chart import (
    MOST_DRAWN_BYTES,
    MOST_DRAWN_ROWS,
    Chart,
    ChartError,
    ChartRows,
    make_writable,
    require_writable_title,
    specify_chart,
)

CHART = Chart(type="bar", x="x", y="y")


def rows(*cells: object) -> ChartRows:
    """Return a row for each cell of `x`."""
    return ChartRows(columns=(("x", "string"), ("y", "int")), rows=tuple((each, 1) for each in cells))


@pytest.mark.parametrize("character", ["\x00", "\x08", "\x0b", "\x1f", "\ud800", "\ufffe", "\uffff"])
def test_a_character_that_xml_cannot_hold_is_replaced_in_every_text(character: str) -> None:
    text = f"a{character}b"

    assert make_writable({text: [text, (text,), {"k": text}], "n": 1}) == {
        "a\ufffdb": ["a\ufffdb", ["a\ufffdb"], {"k": "a\ufffdb"}],
        "n": 1,
    }


def test_a_text_that_xml_can_hold_is_left_as_it_is() -> None:
    text = "\t\n\r ~\x7f\x85\ud7ff\ue000\ufffd\U00010000\U0010ffff"

    assert make_writable([text, 1, 1.5, True, None]) == [text, 1, 1.5, True, None]


def test_a_specification_has_no_character_that_xml_cannot_hold() -> None:
    chart = Chart(type="arc", x="x\x00", y="y", title="t\x01")
    shown = ChartRows(columns=(("x\x00", "string"), ("y", "int")), rows=(("a\ufffe", 1),))

    specification = json.loads(specify_chart(chart, shown))

    assert specification["title"] == "t\ufffd"
    assert specification["encoding"]["color"]["title"] == "x\ufffd"
    assert specification["data"]["values"] == [{"x": "a\ufffd", "y": 1}]


def test_a_chart_with_more_rows_than_can_be_drawn_is_refused() -> None:
    drawn = json.loads(specify_chart(CHART, rows(*range(MOST_DRAWN_ROWS))))

    assert len(drawn["data"]["values"]) == MOST_DRAWN_ROWS
    with pytest.raises(
        ChartError, match=r"1,001 rows, but at most 1,000 can be drawn \(up to 5,000 are stored\); aggregate"
    ):
        specify_chart(CHART, rows(*range(MOST_DRAWN_ROWS + 1)))


def test_a_specification_above_the_size_limit_is_refused() -> None:
    with pytest.raises(
        ChartError, match=r"at most 128 KiB can be drawn \(up to 4,096 KiB are stored\); select fewer rows"
    ):
        specify_chart(CHART, rows("W" * MOST_DRAWN_BYTES))


def test_a_refusal_of_a_title_names_the_character_that_cannot_be_drawn() -> None:
    require_writable_title(Chart(type="bar", x="x", y="y", title="two\nlines"))

    with pytest.raises(ChartError, match=r"U\+FFFE, which an SVG image cannot hold; remove that character"):
        require_writable_title(Chart(type="bar", x="x", y="y", title="a\ufffeb"))
