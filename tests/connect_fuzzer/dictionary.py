"""The dictionary of the fuzzer: names, paths, addresses, settings, formats and values that the guard must recognize."""

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from headgate.spark.gateway.protos import base
from headgate.spark.gateway.rpcs import EXECUTE_PLAN
from tests.connect_fuzzer import binaries
from tests.connect_fuzzer.messages import Request, corpus, recorded

CORPUS: Final = Path(__file__).parents[1] / "bypass"
_LISTED: Final = tuple(
    each
    for each in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    if not each.startswith("#")
)
_TABLES: Final = (
    "lake.secret.salaries",
    "lake.raw.flights",
    "lake.trusted.v",
    "lake.open.w",
    "spark_catalog.default.t",
)
_SUFFIXES: Final = ("", ".files", ".snapshots", ".history", ".refs", ".changes", ".branch_audit", "@v1")
_NUMBERS: Final = ("0", "-1", "1.5", "1e400", "9" * 400, "2020-01-01", "interval 1 day", "true", "null")
_NAMES: Final = (
    "",
    " ",
    "*",
    "lake",
    ".",
    "..",
    "a.b.c.d.e",
    "x" * 5000,
    "\u0000",
    "\u202e",
    "\U0001f600",
    "\u017f",
    "e\u0301",
)
_SYNTAX: Final = (
    "`",
    "``",
    "'",
    '"',
    "\\",
    "%",
    "(" * 500,
    "[" * 500,
    '{"a":' * 300,
    "${x}",
    "/*",
    "--",
    ";",
    "(a+)+$",
    "SELECT 1",
)
_ARTIFACTS: Final = ("cache/" + "0" * 64, "jars/x.jar", "classes/X.class", "pyfiles/x.py", "files/x", "../x")
_TYPES: Final = (
    "a INT, b STRUCT<c: ARRAY<MAP<STRING, VARIANT>>>",
    json.dumps({"type": "struct", "fields": [{"name": "a", "type": "integer", "nullable": True, "metadata": {}}]}),
    json.dumps({"type": "udt", "class": "org.apache.spark.ml.linalg.VectorUDT", "pyClass": None, "sqlType": "integer"}),
)
_WORDS: Final = (*_LISTED, *_NUMBERS, *_NAMES, *_SYNTAX, *_ARTIFACTS, *_TYPES)


def cases() -> Iterator[dict[str, str]]:
    """Yield the cases of the corpora."""
    for name in ("public.jsonl", "more.jsonl"):
        yield from map(json.loads, (CORPUS / name).read_text(encoding="utf-8").splitlines())


def statements() -> Iterator[Request]:
    """Yield a request for each statement of the corpora."""
    return (_statement(each["statement"]) for each in cases() if each["kind"] == "sql")


def _statement(text: str) -> Request:
    # The type stubs do not accept nested messages written as dicts.
    plan: Any = {"command": {"sql_command": {"sql": text, "input": {"sql": {"query": text}}}}}
    return Request(EXECUTE_PLAN, base.ExecutePlanRequest(plan=plan))


def requests() -> Sequence[Request]:
    """Return every request that the fuzzer mutates."""
    return corpus([*recorded(), *statements(), *binaries.calls(), *binaries.damaged_calls()])


def texts(paths: Sequence[Path], port: int, others: Sequence[str]) -> Sequence[str]:
    """Return the texts.

    `paths` are paths of canaries, `port` is the canary port, `others` are ids and names of the other user.
    """
    names = [f"{table}{suffix}" for table in _TABLES for suffix in _SUFFIXES]
    files = [
        form.format(path) for path in paths for form in ("{}", "file:{}", "file://{}", "csv.`{}`", "text.`file:{}`")
    ]
    hosts = [f"{scheme}://127.0.0.1:{port}/x" for scheme in ("http", "https", "hdfs", "s3a", "ftp", "jdbc:postgresql")]
    queries = [f"SELECT * FROM {name}" for name in (*names[:9], *files[3::5])]
    return (*names, *files, *hosts, f"127.0.0.1:{port}", *queries, *_WORDS, *others)


def values() -> Sequence[bytes]:
    """Return the bytes: Arrow streams, sketches, serialized Java objects, archives and others.

    Some are complete, some are truncated.
    """
    stream = io.BytesIO()
    batch = pa.record_batch({"a": [1, 2], "s": ["x", "y"], "n": [[1.5], []]})
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    arrow = stream.getvalue()
    java = b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16`\xd1\x03\x00\x02F\x00\nloadFactorI\x00\tthreshold"
    zipped = b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + b"\x00" * 20
    class_file = b"\xca\xfe\xba\xbe\x00\x00\x00\x34" + b"\x00" * 16
    return (
        b"",
        b"\x00",
        b"\xff" * 64,
        arrow,
        arrow[:-9],
        arrow * 2,
        java,
        zipped,
        class_file,
        b"\x80\x05.",
        *binaries.values(),
    )
