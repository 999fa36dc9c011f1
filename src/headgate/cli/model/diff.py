"""`headgate model diff`: the decisions that differ between two models, on the facts of an organization."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.facts.options import At, AtRevision, EngineName, ModelFiles, On, exits_with_answer
from headgate.cli.options import OutputMode
from headgate.cli.scenarios.commands import Answering

Model = Annotated[str, typer.Argument(metavar="NAME|FILE", help="a shipped model, or a model file")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff", epilog="Example: headgate model diff harbour.yaml harbour-2.yaml facts.jsonl")(
        exits_with_answer(diff)
    )


def diff(
    old: Model,
    new: Model,
    facts: Annotated[
        Path,
        typer.Argument(
            metavar="FACTS", help="a facts file that the OLD model governs; `headgate facts export` writes one"
        ),
    ],
    *,
    at: At = None,
    revision: AtRevision = None,
    model_file: ModelFiles = None,
    engine: EngineName = Answering.ENGINE,
    output: OutputMode = "table",
) -> int:
    """Show the decisions that differ between two models.

    The command compares the NEW model with the OLD one, and shows also the pipelines that break or open. The new model keeps the assignments: it matches them by the names of their roles.
    """
    from headgate.cli.facts.facts_file import (
        answering,
        models_of,
        read_model_file,
        state_of,
        time_of,
    )
    from headgate.cli.facts.impact import print_consequences
    from headgate.cli.facts.options import AskError
    from headgate.control.models.shipped_models import shipped_model, shipped_names
    from headgate.decision.diff.compare import EvaluatedSide
    from headgate.decision.diff.what_if import compute_difference

    on = On(at, revision, model_file or (), engine, output)
    for each in (old, new):
        if each not in shipped_names() and not Path(each).exists():
            raise AskError(
                f"`{each}` is neither a shipped model nor a file; pass the path of a file, or one of "
                f"{', '.join(shipped_names())}"
            )
    first, second = (
        shipped_model(each).model if each in shipped_names() else read_model_file(Path(each)) for each in (old, new)
    )
    state, past = state_of(facts, on.revision), on.revision is not None
    if first.name not in state.facts.model_hashes:
        raise AskError(
            f"the access model `{first.name}` governs nothing in `{facts}`; pass one that does as the first model: "
            f"{', '.join(state.facts.model_hashes)}"
        )
    models = models_of(state, [*map(read_model_file, on.model_file), first], past=past)
    now = time_of(on.at, state, past=past)
    changed = {**models, first.name: replace(second, name=first.name)}
    before, after = (EvaluatedSide(answering(each, state.facts, on.engine), now) for each in (models, changed))
    print_consequences(state.facts, compute_difference(before, after), json=on.json)
    return 0
