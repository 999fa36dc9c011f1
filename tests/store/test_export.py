"""Export and import of one organization as a file: it is imported into another database completely or not at all."""

import hashlib
import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headgate.control.kernel.ports import DocumentPut, Head, LogWrite, Pointer, StoreError
from headgate.control.kernel.run_queue import RunRow, RunUpdate
from headgate.facts import changes as c
from headgate.facts.ids import ResourceId, RunId
from headgate.store import SqlStores, open_stores
from headgate.store.export import MODEL
from headgate.store.import_log import LEFT_OUT, MAX_LINE
from tests.facts.samples import ANNA
from tests.store.samples import OTHER, any_model, anywhere, created

ROOT = ResourceId("acme")
SOURCE = "model: nekt # é\n"
HASH = hashlib.sha256(SOURCE.encode()).hexdigest()
RUN = RunRow(
    RunId("r"),
    ResourceId("p"),
    "failed",
    "manual",
    ANNA,
    1.0,
    1.0,
    2.0,
    3.0,
    1,
    "w",
    why="é",
    figures={"metrics": {"a": 1.5}},
)


def _begun(stores: SqlStores) -> list[str]:
    """Create an organization with 510 entries, and return its export file."""
    founded = (c.OrganizationCreated(ROOT, "nekt", HASH), c.ResourceCreated(ResourceId("l"), "lake", ROOT, "lake"))
    name = DocumentPut("principal", ANNA, {"name": "Änna \ud800"})
    store = stores.log(ROOT)
    store.append(Head(), LogWrite(1.5, None, "organization.create", founded, (name,)))
    for number in range(3):
        store.append(store.head(), created(number))
    for _ in range(4, 510):
        store.append(store.head(), LogWrite(2.0, ANNA, "nothing", ()))
    store.put_run(RunUpdate(RUN, None))
    store.append_log_lines(RUN.run, 3.0, ["one", "zwei ä \ud800"])
    stores.log(OTHER).put_document(DocumentPut(MODEL, HASH, {"name": "nekt", "source": SOURCE}))
    stores.log(OTHER).put_document(DocumentPut(MODEL, "unused", {"name": "other", "source": ""}))
    return list(stores.export(ROOT))


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The lines of an organization's export file."""
    stores = open_stores(":memory:")
    try:
        return _begun(stores)
    finally:
        stores.close()


def _ended(lines: list[str]) -> list[str]:
    """Return the lines with a last line that fits them, as a careful attacker writes it after altering the file."""
    digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    return [*lines, json.dumps({"end": {"lines": len(lines), "sha256": digest}})]


def test_an_export_is_the_same_from_every_database(sql_stores: SqlStores, lines: list[str]) -> None:
    assert _begun(sql_stores) == lines


def test_an_imported_organization_equals_the_exported_one(sql_stores: SqlStores, lines: list[str]) -> None:
    facts = sql_stores.take(lines, anywhere, any_model)

    store = sql_stores.log(ROOT)
    assert (facts.organization, facts.revision, store.head().revision) == (ROOT, 510, 510)
    store.verify()
    assert store.document("principal", ANNA) == {"name": "Änna \ud800"}
    assert store.pointer(ResourceId("t1")) == created(1).pointers[0]
    assert sql_stores.find(MODEL, HASH) == (ROOT, {"name": "nekt", "source": SOURCE})
    assert sql_stores.find(MODEL, "unused") is None
    assert store.run(RUN.run) == RUN
    assert [(each.number, each.at) for each in store.log_lines(RUN.run)] == [(1, 3.0), (2, 3.0)]
    assert store.append(store.head(), created(900)).revision == 511
    store.verify()


def test_an_imported_organization_can_be_exported_again(sql_stores: SqlStores, lines: list[str]) -> None:
    sql_stores.take(lines, anywhere, any_model)

    # The sources of the models are now the organization's own documents, so their lines are in another order.
    assert sorted(list(sql_stores.export(ROOT))[:-1]) == sorted(lines[:-1])


def test_a_file_from_before_there_were_runs_is_imported(sql_stores: SqlStores, lines: list[str]) -> None:
    older = [line for line in lines[:-1] if not line.startswith(('{"run":', '{"run_line":'))]
    assert len(older) == len(lines) - 4

    sql_stores.take(_first(version=1)(older), anywhere, any_model)

    assert sql_stores.log(ROOT).run(RUN.run) is None


@pytest.mark.parametrize(
    ("id", "path", "problem"),
    [
        ("t1", "file:///w/else", "belongs to another table of this deployment"),
        ("t9", "/w/1", "is, contains or is inside the folder of another table"),
        ("t9", "file:///w/metadata/0.json", "is, contains or is inside the folder of another table"),
        ("t9", "file:///w/1/x/metadata/0.json", "is, contains or is inside the folder of another table"),
        ("t9", "file:/w//1/metadata/metadata/0.json", "is, contains or is inside the folder of another table"),
    ],
    ids=["id", "files", "around", "in", "metadata"],
)
def test_a_table_of_another_organization_is_not_imported(
    sql_stores: SqlStores, lines: list[str], id: str, path: str, problem: str
) -> None:
    other = sql_stores.log(ResourceId("globex"))
    other.append(Head(), replace(created(1), pointers=(Pointer(ResourceId(id), path),)))

    with pytest.raises(StoreError, match=problem):
        sql_stores.take(lines, anywhere, any_model)

    assert list(sql_stores.logs()) == ["globex"]


@pytest.mark.parametrize("path", ["/w/metadata/0.json", "/w/1/x/metadata/0.json"], ids=["around", "in"])
def test_a_file_with_tables_that_lie_in_each_other_is_not_imported(
    sql_stores: SqlStores, lines: list[str], path: str
) -> None:
    pointer = {"table_id": "t9", "metadata_location": path, "previous_location": None}
    altered = [*lines[:-1], json.dumps({"pointer": pointer})]

    with pytest.raises(
        StoreError, match="of the table `t9` in the file is, contains or is inside the folder of another table"
    ):
        sql_stores.take(_ended(altered), anywhere, any_model)

    assert list(sql_stores.logs()) == []


def test_a_table_beside_those_of_another_organization_is_imported(sql_stores: SqlStores, lines: list[str]) -> None:
    other = sql_stores.log(ResourceId("globex"))
    other.append(Head(), replace(created(1), pointers=(Pointer(ResourceId("t9"), "/w/11/metadata/0.json"),)))

    sql_stores.take(lines, anywhere, any_model)

    assert sql_stores.log(ROOT).pointer(ResourceId("t1")) == created(1).pointers[0]


@pytest.mark.parametrize("kind", sorted(LEFT_OUT))
def test_secrets_of_another_deployment_are_not_imported(sql_stores: SqlStores, lines: list[str], kind: str) -> None:
    secret = json.dumps({"document": {"kind": kind, "id": "x", "body": {"hash": "h"}}})

    sql_stores.take(_ended([*lines[:-1], secret]), anywhere, any_model)

    assert sql_stores.log(ROOT).document(kind, "x") is None


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("group", {}),
        ("group", {"name": 7}),
        ("principal", {"name": None}),
        ("principal", {"name": "x" * 1001}),
        ("schedules", {"revision": "x"}),
        ("schedules", {"at": "x"}),
        ("schedules", {"at": float("nan")}),
        ("schedules", {"revision": -1}),
        ("pipeline", []),
    ],
)
def test_a_document_of_another_form_is_not_imported(
    sql_stores: SqlStores, lines: list[str], kind: str, body: object
) -> None:
    document = json.dumps({"document": {"kind": kind, "id": "x", "body": body}})

    with pytest.raises(StoreError, match="is not a valid `document`"):
        sql_stores.take(_ended([*lines[:-1], document]), anywhere, any_model)

    assert ROOT not in sql_stores.logs()


@pytest.mark.parametrize("run", ["../../../warehouse/acme", "/etc", "", "a/b"])
def test_a_run_with_a_path_as_its_id_is_not_imported(sql_stores: SqlStores, lines: list[str], run: str) -> None:
    altered = [line.replace('"run":"r"', f'"run":{json.dumps(run)}') for line in lines[:-1]]
    assert altered != lines[:-1]

    with pytest.raises(StoreError, match="is not a valid `run`"):
        sql_stores.take(_ended(altered), anywhere, any_model)


def test_resources_that_lie_in_each_other_are_not_imported(sql_stores: SqlStores) -> None:
    circle = (
        c.ResourceCreated(ResourceId("a"), "database", ROOT, "a"),
        c.ResourceCreated(ResourceId("b"), "table", ResourceId("a"), "b"),
        c.ResourceRenamed(ResourceId("a"), ResourceId("b"), "a"),
    )
    elsewhere = open_stores(":memory:")
    try:
        store = elsewhere.log(ROOT)
        store.append(Head(), LogWrite(0.0, None, "create", (c.OrganizationCreated(ROOT, "nekt", HASH),)))
        store.put_document(DocumentPut(MODEL, HASH, {"name": "nekt", "source": SOURCE}))
        store.append(store.head(), LogWrite(0.0, None, "move", circle))
        with pytest.raises(
            StoreError, match="revision 2 in the file puts `a` outside the resource tree of the organization"
        ):
            sql_stores.take(elsewhere.export(ROOT), anywhere, any_model)
    finally:
        elsewhere.close()


def test_an_organization_that_exists_is_not_imported_again(sql_stores: SqlStores, lines: list[str]) -> None:
    sql_stores.take(lines, anywhere, any_model)

    with pytest.raises(StoreError, match="there is an organization `acme` already"):
        sql_stores.take(lines, anywhere, any_model)


def test_an_organization_that_does_not_exist_cannot_be_exported(sql_stores: SqlStores) -> None:
    with pytest.raises(StoreError, match="there is no organization `nobody`"):
        list(sql_stores.export(ResourceId("nobody")))


def _with(**changes: Any) -> Callable[[list[str]], list[str]]:
    """Change fields of the first entry."""

    def changed(lines: list[str]) -> list[str]:
        said = json.loads(lines[1])["entry"] | changes
        return _ended([lines[0], json.dumps({"entry": said}), *lines[2:]])

    return changed


def _first(**changes: Any) -> Callable[[list[str]], list[str]]:
    return lambda lines: _ended([json.dumps(json.loads(lines[0]) | changes), *lines[1:]])


WIDE = f"[{'[],' * 1_000_000}1]"
BROKEN: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "empty": (lambda _: [], "was truncated after line"),
    "not JSON": (lambda lines: [lines[0], "x"], "line 2 of the file is not JSON"),
    "nested without end": (lambda lines: [lines[0], "[" * 100_000], "line 2 of the file cannot be imported"),
    "nested deeply": (lambda lines: [lines[0], "[" * 500 + "]" * 500], "line 2 of the file cannot be imported"),
    "too many values": (lambda lines: [lines[0], WIDE], "line 2 of the file cannot be imported"),
    "a line without end": (lambda lines: [lines[0], "x" * (MAX_LINE + 1)], "line 2 of the file is longer than"),
    "of another format": (_first(format="headgate facts"), "the file is no exported organization"),
    "without an organization": (_first(organization=None), "the file is no exported organization"),
    "of a later version": (_first(version=3), "has format version 3, but this Headgate reads versions up to 2"),
    "of another organization": (_first(organization="other"), "revision 1 in the file was altered"),
    "cut at the end": (lambda lines: lines, "was truncated after line"),
    "cut in the middle": (lambda lines: lines[:300], "was truncated after line"),
    "an altered line without a new hash": (
        lambda lines: [*lines[:-1], lines[-1].replace(":", ": ", 1), _ended(lines)[-1]],
        "was altered after it was exported",
    ),
    "another actor": (_with(actor="u9"), "revision 1 in the file was altered"),
    "another hash": (_with(hash="0"), "revision 1 in the file was altered"),
    "another time": (_with(at=7.0), "revision 1 in the file was altered"),
    "a time that is not a number": (_with(at="7"), "line 2 of the file is not a valid `entry`"),
    "a time that is too large": (_with(at=1e300), "line 2 of the file is not a valid `entry`"),
    "a time that is too small": (_with(at=-1e300), "line 2 of the file is not a valid `entry`"),
    "an infinite time": (_with(at=float("inf")), "line 2 of the file is not a valid `entry`"),
    "a revision that is too large for its column": (_with(revision=2**31), "line 2 of the file is not a valid `entry`"),
    "an unknown column": (_with(more=1), "line 2 of the file is not a valid `entry`"),
    "the id of another log": (_with(log_id="deployment"), "revision 1 in the file was altered"),
    "a missing entry": (lambda lines: _ended([lines[0], *lines[2:]]), "revision 1 in the file is missing"),
    "no entries": (lambda lines: _ended([lines[0]]), "the export lacks the entry that creates the organization"),
    "an unknown kind of line": (
        lambda lines: _ended([lines[0], '{"more": {}}']),
        "line 2 of the file has none of the kinds",
    ),
    "a missing model": (
        lambda lines: _ended([line for line in lines if '"kind":"model"' not in line]),
        "lacks the source of the access model with the hash",
    ),
    "another model": (
        lambda lines: _ended([line.replace("model: nekt", "model: mine") for line in lines]),
        "is not a valid `document`",
    ),
}


def test_a_line_of_too_many_values_is_refused_before_it_is_parsed(lines: list[str]) -> None:
    stores = open_stores(":memory:")
    tracemalloc.start()
    try:
        with pytest.raises(StoreError, match="more than 1,000,000 values"):
            stores.take([lines[0], WIDE], anywhere, any_model)
        assert tracemalloc.get_traced_memory()[1] < 5 * len(WIDE)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("how", BROKEN)
def test_a_file_that_is_not_whole_is_not_imported(lines: list[str], how: str) -> None:
    change, sentence = BROKEN[how]
    stores = open_stores(":memory:")

    with pytest.raises(StoreError, match=sentence):
        stores.take(change(lines[:-1]), anywhere, any_model)

    assert stores.logs() == []
    assert stores.log(ROOT).document("principal", ANNA) is None
    stores.close()


def test_a_token_with_the_id_of_a_token_of_another_organization_is_not_imported(
    sql_stores: SqlStores, lines: list[str]
) -> None:
    sql_stores.log(OTHER).put_document(DocumentPut("token", "k", {"hash": "mine"}))
    token = json.dumps({"document": {"kind": "token", "id": "k", "body": {"hash": "theirs"}}})

    with pytest.raises(StoreError, match="has the id of a token of another organization"):
        sql_stores.take(_ended([*lines[:-1], token]), anywhere, any_model)

    assert sql_stores.find("token", "k") == (OTHER, {"hash": "mine"})


def test_the_log_of_a_deployment_is_not_imported_as_an_organization(sql_stores: SqlStores) -> None:
    elsewhere = open_stores(":memory:")
    founded = (c.OrganizationCreated(ROOT, "nekt", HASH, "deployment"),)
    elsewhere.log(ROOT).append(Head(), LogWrite(1.5, None, "deployment.create", founded))

    with pytest.raises(StoreError, match="the export lacks the entry that creates the organization"):
        sql_stores.take(elsewhere.export(ROOT), anywhere, any_model)

    elsewhere.close()


def test_impossible_changes_are_not_imported(sql_stores: SqlStores) -> None:
    elsewhere = open_stores(":memory:")
    founded = (c.OrganizationCreated(ROOT, "nekt", HASH), c.MemberAdded(c.GroupId("nowhere"), ANNA))
    elsewhere.log(ROOT).append(Head(), LogWrite(1.5, None, "organization.create", founded))

    with pytest.raises(StoreError, match="revision 1 in the file changes `nowhere`, which does not exist"):
        sql_stores.take(elsewhere.export(ROOT), anywhere, any_model)

    elsewhere.close()
