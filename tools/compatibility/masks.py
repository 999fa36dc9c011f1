"""Masks for parts of rows, schemas and messages that differ from one server to another by chance: ids, paths, sizes, owners."""

import re
import tempfile
from pathlib import Path
from typing import Final

_TEMPORARY: Final = "|".join(
    sorted({re.escape(each) for each in ("/tmp", tempfile.gettempdir(), str(Path(tempfile.gettempdir()).resolve()))})  # noqa: S108 (a text to mask)
)
_MASKS: Final = (
    (re.compile(r"#\d+L?"), "#x"),
    (re.compile(r"plan_id=\d+"), "plan_id=x"),
    (re.compile(rf"(file:(//)?)?({_TEMPORARY})/[\w./=@%+-]*"), "<path>"),
    (re.compile(r"'Owner', '\w+'"), "'Owner', x"),
    (re.compile(r"\b\d+ bytes"), "x bytes"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"@[0-9a-f]{5,8}\b"), "@x"),
    (re.compile(r"\b0x[0-9a-f]{8,16}\b"), "0xx"),
    (re.compile(r"(CTERelation(?:Def|Ref)|UnionLoop(?:Ref)?) \d+"), r"\1 x"),
    (re.compile(r"Loop id: \d+"), "Loop id: x"),
    (re.compile(r"\*\(\d+\) "), "*"),
    (re.compile(r"(snapshot-id'?,? ?=? ?'?)\d+"), r"\1x"),
    (re.compile(r"\b(snapshotId|\w*snapshot_id|previous_ref|updated_ref)=\d+"), r"\1=x"),
    (re.compile(r"(Created Time|Owner): [^\\\n]*"), r"\1: x"),
    # Spark writes the name of a property letter by letter where it shows the properties of a table.
    (re.compile(r"\[\[, c, u, r, r, e, n, t, -, s, n, a, p.*"), "<properties>"),
)


def mask(text: str) -> str:
    """Return a text without the parts that differ by chance."""
    for pattern, shown in _MASKS:
        text = pattern.sub(shown, text)
    return text
