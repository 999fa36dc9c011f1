"""Drafts to append."""

from headgate.control.kernel.ports import DocumentPut, LogWrite, Pointer
from headgate.facts import changes as c
from headgate.facts.ids import ResourceId
from tests.facts.samples import ANNA, LAKE

ROOT, OTHER = ResourceId("organization"), ResourceId("other")
"""The root resources of two logs."""


def created(number: int) -> LogWrite:
    """A draft that creates table `number` with a pointer and a document."""
    table = ResourceId(f"t{number}")
    return LogWrite(
        at=float(number),
        actor=ANNA,
        command="create_table",
        changes=(c.ResourceCreated(table, "table", LAKE, f"name{number}", ANNA),),
        documents=(DocumentPut("table", table, {"comment": f"number {number}"}),),
        pointers=(Pointer(table, f"file:///w/{number}"),),
    )


def deleted(number: int) -> LogWrite:
    """A draft that deletes what `created` created."""
    return LogWrite(float(number), ANNA, "drop_table", (c.ResourceDeleted(ResourceId(f"t{number}")),))


def anywhere(_: Pointer) -> bool:
    """Accept every location of a table in an exported organization."""
    return True


def any_model(_: str) -> bool:
    """Accept every text as the source of a model."""
    return True


def drafted(*changes: c.Change) -> LogWrite:
    """A draft of these changes, without documents."""
    return LogWrite(0.0, None, "something", changes)
