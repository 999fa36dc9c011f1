"""Generator of the documentation page of the operations: what each needs, and what a model may restate."""

from headgate.model.markdown import table
from headgate.model.model import OperationTable
from headgate.model.suggestions import quoted

_HEAD = """# Operations

What each operation of Headgate needs, unless the access model [restates it](model-language/operations.md): all the actions of its row, in their order. `on` is the
resource, in the words of the operation, `verb` the verb on its type. Of several verbs, the first one counts that the model has for the type. A verb with a dot is a
whole action; a text in braces is a word of the operation, such as the type that is created. Written by `headgate model document operations`.
"""


def operations_page(operations: OperationTable) -> str:
    """Return the needs of the operations as a page in Markdown."""
    rows = [
        (f"`{operation}`" if not index else "", f"`{need.place}`", quoted(need.verbs))
        for operation, needs in operations.items()
        for index, need in enumerate(needs)
    ]
    return "\n".join((_HEAD, *table(("operation", "on", "verb"), rows))).rstrip() + "\n"
