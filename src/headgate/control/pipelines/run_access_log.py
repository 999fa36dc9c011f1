"""Access log of runs: the actions that the guard allowed each run, stored as they happen and kept as long as the run."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

from headgate.control.kernel.names import find_by_name
from headgate.control.kernel.ports import DocumentPut, Store
from headgate.control.organizations.organization import Organization
from headgate.facts.ids import ResourceId, RunId

KIND = "touched"
"""The kind of document with the actions that a run was allowed, by the id of the resource."""

COLUMNS = "touched_columns"
"""The kind of document with the column lineage of the tables that a run wrote, by name."""

READING = "table.select"
_AT_HAND = 1000
"""The number of runs whose stored actions are cached; those of others are read again."""

_MOST_TABLES = 100

Asked = tuple[str, Sequence[str]]
"""An action, and the full name on which it was checked."""

ColumnSources = Mapping[str, Sequence[tuple[str, str]]]
"""The sources of each column: full names of tables and their columns."""


class RunAccessLog:
    """Stores the actions that runs were allowed, each action on each resource once. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[RunId, frozenset[tuple[ResourceId, str]]] = OrderedDict()

    def record(self, organization: Organization, run: RunId, asked: Iterable[Asked]) -> None:
        """Store the actions that a run of this organization was allowed; only new ones are written, before the return.

        Raises `StoreError` if they cannot be written.
        """
        facts = organization.control.snapshot
        found = {(there.id, action) for action, names in asked if (there := find_by_name(facts, names)) is not None}
        with self._lock:
            known = self._kept.get(run)
            if known is not None and found <= known:
                return
            kept = frozenset(
                (id, each) for id, actions in allowed_actions(organization.store, run).items() for each in actions
            )
            if not found <= kept:
                organization.store.put_document(_document(run, kept | found))
            self._kept[run] = kept | found
            self._kept.move_to_end(run)
            while len(self._kept) > _AT_HAND:
                self._kept.popitem(last=False)

    def record_columns(self, store: Store, run: RunId, table: str, came: ColumnSources) -> None:
        """Store the sources of the columns of a table that a run writes. Raises `StoreError`."""
        with self._lock:
            kept = read_written_columns(store, run)
            if table in kept or len(kept) < _MOST_TABLES:
                body = {**kept, table: {name: [list(each) for each in whence] for name, whence in came.items()}}
                store.put_document(DocumentPut(COLUMNS, run, body))


def read_written_columns(store: Store, run: RunId) -> Mapping[str, Mapping[str, Sequence[Sequence[str]]]]:
    """Return the sources of the columns of the tables that a run has written, by the table's full name at that time."""
    return store.document(COLUMNS, run) or {}


def allowed_actions(store: Store, run: RunId) -> Mapping[ResourceId, frozenset[str]]:
    """Return the actions that the guard has allowed a run so far, by resource."""
    body = store.document(KIND, run) or {}
    return {ResourceId(id): frozenset(actions) for id, actions in body.items()}


def _document(run: RunId, pairs: Iterable[tuple[ResourceId, str]]) -> DocumentPut:
    body = dict[str, list[str]]()
    for id, action in sorted(pairs):
        body.setdefault(id, []).append(action)
    return DocumentPut(KIND, run, body)
