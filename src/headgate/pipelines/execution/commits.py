"""Whether a run has written a table already: what a later attempt asks before it writes."""

from headgate.control.control import Control
from headgate.control.kernel.ports import Store
from headgate.control.pipelines.commits import committed_figures
from headgate.facts.ids import RunId
from headgate.pipelines.definitions.definition import parts


def committed(store: Store, control: Control, run: RunId, table: str) -> bool:
    """Say whether any attempt of a run has committed rows to the table of this full name, as far as is known by now.

    Another process may have made the table, so what it has written is read first.
    """
    control.catch_up()
    there = control.snapshot.find(parts(table))
    return there is not None and committed_figures(store, run, there.id) is not None
