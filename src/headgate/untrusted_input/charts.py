"""Charts: a native library draws a Vega-Lite specification as SVG in a JavaScript engine.

A panic of the library ends its process, and the library holds Python's interpreter lock while it draws. So no other
module imports it.
"""

from typing import Final

import vl_convert

from headgate.untrusted_input.errors import UnreadableInputError

_SMALLEST: Final = {
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
    "title": "a",
    "data": {"values": [{"x": "a", "y": 1}]},
    "mark": {"type": "bar"},
    "encoding": {"x": {"field": "x", "type": "nominal"}, "y": {"field": "y", "type": "quantitative"}},
}


def start_engine() -> None:
    """Start the engine and its threads by drawing a trusted chart: a restricted process could not start it later."""
    vl_convert.vegalite_to_svg(_SMALLEST, allowed_base_urls=[])


def draw_chart(document: bytes | bytearray) -> bytes:
    """Return the chart of a specification as SVG, drawn without network access.

    Raises `UnreadableInputError` if the library refuses the specification.
    """
    try:
        return vl_convert.vegalite_to_svg(document.decode(), allowed_base_urls=[]).encode()
    except ValueError:
        raise UnreadableInputError(
            "the rows cannot be drawn as a chart of the chosen type; choose another type or other columns, or shorten the strings"
        ) from None
