"""Another catalog is read by a process without our keys; its answers can choose no class to load, no depth and no waiting time."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from typing_extensions import override

from headgate.lake.other_catalog import ListedTable, OtherCatalog, OtherCatalogError

SCHEMA = Schema(NestedField(1, "n", LongType()))
TRAP = "trap.Trap"
Answer = Callable[[str], dict[str, Any] | bytes]


class Foreign:
    """A REST catalog with the answers of the test; an answer of bytes is repeated without end."""

    def __init__(self) -> None:
        self.answer: Answer = lambda _: {}
        self.asked = list[str]()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                answer = outer.answer(self.path)
                self.send_response(200)
                self.end_headers()
                with suppress(OSError):
                    if isinstance(answer, bytes):
                        while answer:
                            self.wfile.write(answer)
                    self.wfile.write(json.dumps(answer).encode())

            @override
            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.properties = {"type": "rest", "uri": f"http://127.0.0.1:{self.server.server_port}", "token": "t"}


@pytest.fixture
def foreign() -> Iterator[Foreign]:
    made = Foreign()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def sprung(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that this process and its child processes can import; the returned file exists once it was imported."""
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\nTrap = dict\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "sprung"


def table_answer(folder: Path, config: dict[str, str]) -> dict[str, Any]:
    """Return the answer of a catalog to a load of a table."""
    made = load_catalog("other", type="sql", uri=f"sqlite:///{folder}/made.db", warehouse=f"file://{folder}/files")
    made.create_namespace("raw")
    table = made.create_table("raw.flights", SCHEMA)
    made.close()
    metadata = json.loads(table.metadata.model_dump_json())
    return {"metadata-location": table.metadata_location, "metadata": metadata, "config": config}


def tables_of(properties: dict[str, str], silence: float = 60.0) -> list[ListedTable]:
    with OtherCatalog("other", properties, silence) as other:
        return list(other.tables())


def test_a_class_that_a_tables_properties_name_is_not_loaded(tmp_path: Path, sprung: Path) -> None:
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/other.db", "warehouse": f"file://{tmp_path}/files"}
    made = load_catalog("other", **properties)
    made.create_namespace("raw")
    location = made.create_table("raw.flights", SCHEMA, properties={"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})
    file = Path(location.metadata_location.removeprefix("file://"))
    file.write_text(file.read_text().replace("pyiceberg.io.pyarrow.PyArrowFileIO", TRAP))
    made.close()

    assert tables_of(properties) == [ListedTable(("raw", "flights"), location.metadata_location)]
    assert not sprung.exists()


CHOSEN = {
    "reader of files": {"py-io-impl": TRAP},
    "login": {"auth": {"type": "custom", "impl": TRAP, "custom": {}}},
    "signature": {"rest.sigv4-enabled": "true"},
    "certificate": {"ssl": {"cabundle": "/nowhere/ca.pem", "client": {"cert": "/nowhere/client.pem"}}},
    "address": {"uri": "http://127.0.0.1:9/elsewhere"},
    "login's address": {"oauth2-server-uri": "http://127.0.0.1:9/token", "credential": "a:b"},
}


@pytest.mark.parametrize("kind", CHOSEN)
@pytest.mark.parametrize("where", ["defaults", "overrides", "table"])
def test_the_answers_of_a_catalog_cannot_configure_the_reader(
    tmp_path: Path, sprung: Path, foreign: Foreign, where: str, kind: str
) -> None:
    chosen = CHOSEN[kind]
    table = {name: each for name, each in chosen.items() if isinstance(each, str)}
    loaded = table_answer(tmp_path, table if where == "table" else {})

    def answer(path: str) -> dict[str, Any]:
        if path.startswith("/v1/config"):
            return {"defaults": {}, "overrides": {}, **({} if where == "table" else {where: chosen})}
        if path.endswith("/flights"):
            return loaded
        if path.endswith("/tables"):
            return {"identifiers": [{"namespace": ["raw"], "name": "flights"}]}
        return {"namespaces": [] if "parent" in path else [["raw"]]}

    foreign.answer = answer

    assert tables_of(foreign.properties) == [ListedTable(("raw", "flights"), loaded["metadata-location"])]
    assert not sprung.exists()


def test_endless_namespaces_are_listed_up_to_a_depth(foreign: Foreign) -> None:
    def answer(path: str) -> dict[str, Any]:
        if path.startswith("/v1/config"):
            return {"defaults": {}, "overrides": {}}
        if path.endswith("/tables"):
            return {"identifiers": []}
        above = path.partition("parent=")[2].split("%1F") if "parent=" in path else []
        return {"namespaces": [[*above, "a"]]}

    foreign.answer = answer

    assert tables_of(foreign.properties) == []
    assert len(foreign.asked) < 30


def test_an_endless_answer_fills_only_the_memory_of_the_reader(foreign: Foreign) -> None:
    foreign.answer = lambda path: {"defaults": {}, "overrides": {}} if "config" in path else b"[" * (1 << 20)

    with pytest.raises(OtherCatalogError, match="memory"):
        tables_of(foreign.properties)


def test_a_silent_catalog_is_reported_after_a_timeout() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(OtherCatalogError, match="did not respond within 5 s"),
    ):
        tables_of({"type": "rest", "uri": f"http://127.0.0.1:{silent.getsockname()[1]}"}, silence=5)


def test_a_class_that_the_operator_names_is_loaded_without_headgates_environment(
    tmp_path: Path, sprung: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trap.py").write_text(
        f"import os\nopen({str(sprung)!r}, 'w').write(repr(dict(os.environ)))\n"
        "from pyiceberg.io.pyarrow import PyArrowFileIO as Trap\n"
    )
    loaded = table_answer(tmp_path, {})
    monkeypatch.setenv("HEADGATE_TOKEN", "hush")
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/made.db", "py-io-impl": TRAP}

    assert tables_of(properties) == [ListedTable(("raw", "flights"), loaded["metadata-location"])]
    assert "PATH" in sprung.read_text()
    assert "HEADGATE_" not in sprung.read_text()


def test_a_catalog_that_cannot_be_opened_is_reported() -> None:
    with pytest.raises(OtherCatalogError, match="nosuch"):
        OtherCatalog("other", {"type": "nosuch"})
