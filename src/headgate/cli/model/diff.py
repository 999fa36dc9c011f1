"""`headgate model diff`: the decisions in which two models differ, on the facts of an organization."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.facts.options import On, with_options

Model = Annotated[str, typer.Argument(metavar="NAME|FILE", help="a shipped model, or a model file")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff")(with_options(diff))


def diff(
    old: Model,
    new: Model,
    facts: Annotated[Path, typer.Argument(metavar="FACTS", help="a facts file that the old model governs")],
    on: On,
) -> int:
    """Show the decisions in which the NEW model differs from the OLD one, and the pipelines that break or open.

    The new model finds the assignments by the names of their roles.
    """
    from headgate.cli.facts.facts_file import (
        answering,
        models_of,
        read_model_file,
        read_shipped_model,
        state_of,
        time_of,
    )
    from headgate.cli.facts.impact import print_consequences
    from headgate.cli.facts.options import AskError
    from headgate.decision.diff.compare import EvaluatedSide
    from headgate.decision.diff.what_if import compute_difference
    from headgate.model.vocabulary import MODELS

    first, second = (read_shipped_model(each) if each in MODELS else read_model_file(Path(each)) for each in (old, new))
    state, past = state_of(facts, on.revision), on.revision is not None
    if first.name not in state.sources:
        raise AskError(f"the model `{first.name}` governs nothing in these facts; they know {', '.join(state.sources)}")
    models = models_of(state, [*map(read_model_file, on.model_file), first], past=past)
    now = time_of(on.at, state, past=past)
    changed = {**models, first.name: replace(second, name=first.name)}
    before, after = (EvaluatedSide(answering(each, state.facts, on.engine), now) for each in (models, changed))
    print_consequences(state.facts, compute_difference(before, after), json=on.json)
    return 0
