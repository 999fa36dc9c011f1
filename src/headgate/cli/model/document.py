"""`headgate model document`: the documentation page of a model, of the vocabulary, or of the checker's mistakes."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.errors import describe_unreadable
from headgate.cli.options import OutputFile
from headgate.cli.output import fail, write_text
from headgate.cli.text_files import write_or_exit


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("document", epilog="Example: headgate model document harbour.yaml --output-file harbour.md")(write)


def write(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="a shipped model, a model file, `actions` (the vocabulary), `names` (of attributes, relations and parameters), `operations` (and what they need) or `mistakes` (of the checker)",
        ),
    ],
    output_file: OutputFile = None,
) -> None:
    """Write a model as a page in Markdown. It has the types, switches, roles, matrix, and every rule as a sentence."""
    from headgate.model.diagnostics import ModelError

    try:
        page = page_of(name)
    except ModelError as error:
        fail(str(error))
        sys.exit(1)
    except FileNotFoundError:
        fail(f"`{name}` is neither a shipped model nor a file; pass the name of a shipped model, or the path of a file")
        sys.exit(1)
    except (OSError, UnicodeDecodeError) as error:
        fail(describe_unreadable(Path(name), error))
        sys.exit(1)
    if output_file is None:
        write_text(page)
    else:
        write_or_exit(output_file, page)


def page_of(name: str) -> str:
    """Return the page of a shipped model, a model file, the vocabulary, the declared names, the operations, or the checker's mistakes.

    Raises `ModelError` for its mistakes, and `OSError` or `UnicodeDecodeError` for a file that cannot be read.
    """
    from headgate.control.kernel.vocabulary import shipped_vocabulary
    from headgate.control.models.library import load_source
    from headgate.control.models.shipped_models import shipped_model, shipped_names
    from headgate.control.organizations.commands import DEPLOYMENT
    from headgate.model.docs import mistakes_page, model_page, vocabulary_page
    from headgate.model.names_page import names_page
    from headgate.model.operations_page import operations_page

    if name == "mistakes":
        return mistakes_page()
    if name == "actions":
        return vocabulary_page(shipped_vocabulary())
    if name == "names":
        return names_page(shipped_vocabulary())
    if name == "operations":
        return operations_page(shipped_vocabulary().operations)
    if name in (*shipped_names(), DEPLOYMENT):
        return model_page(shipped_model(name).model)
    return model_page(load_source(Path(name).read_text(encoding="utf-8"), name).model)
