"""Only one module reads HTTP answers of a connection's host; it bounds their size and time."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path("src/headgate")
CLIENTS = (
    "httpx",
    "httpcore",
    "httpx2",
    "httpcore2",
    "requests",
    "urllib3",
    "aiohttp",
    "http.client",
    "urllib.request",
)
OF_CONNECTIONS = {"base_address.py", "http_answers.py", "pinned_http.py", "watched_sockets.py"}
"""The modules of `pipelines` that carry out requests to the hosts of connections."""
REVIEWED = {
    "pipelines/lineage/emitter.py": "posts to the receiver that the operator's setting names",
    "endpoints/auth/oidc/provider_metadata.py": "asks the identity provider that the operator's setting names",
    "conformance/http/runner.py": "asks a server that it has started itself",
}
"""Modules outside the command line that use HTTP for other hosts, each with its requests."""
UNBOUNDED = {"read", "json", "text", "content", "iter_bytes", "iter_text", "iter_lines", "Client", "AsyncClient"}
"""Attributes of httpx that decode a whole answer, or pieces of a size that the host chooses."""


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the full name of every object that a module imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{each.name}" for each in node.names)


def trees() -> Iterator[tuple[str, ast.AST]]:
    """Yield every module of the server with its path."""
    for file in SOURCES.rglob("*.py"):
        name = str(file.relative_to(SOURCES))
        if not name.startswith("cli/"):
            yield name, ast.parse(file.read_text("utf-8"))


def is_client(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in CLIENTS)


def test_no_module_of_the_server_but_those_reviewed_asks_over_http() -> None:
    found = {name for name, tree in trees() if any(map(is_client, imported(tree)))}

    assert found == {f"pipelines/connections/{name}" for name in OF_CONNECTIONS} | set(REVIEWED)


def test_no_module_of_connections_reads_an_answer_without_a_bound() -> None:
    used = {
        (name, node.attr)
        for name, tree in trees()
        if name.removeprefix("pipelines/connections/") in OF_CONNECTIONS
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    }

    assert {each for each in used if each[1] in UNBOUNDED} == set()
    assert {name for name, attribute in used if attribute == "iter_raw"} == {"pipelines/connections/http_answers.py"}


def test_no_module_but_the_reader_opens_sockets_to_a_connections_host() -> None:
    transports = {
        "headgate.pipelines.connections.pinned_http.PinnedTransport",
        "headgate.pipelines.connections.watched_sockets.WatchedTransport",
    }
    found = {name for name, tree in trees() if transports & set(imported(tree))}

    assert found == {"pipelines/connections/http_answers.py"}
