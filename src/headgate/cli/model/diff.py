"""`headgate model diff`: which decisions two models make otherwise, on an organization's own facts."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.ask.options import On, with_options

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
    """Say what the NEW model would decide otherwise than the OLD one: for whom, on what, and which pipelines break or open.

    Assignments are read in the new model as they stand, by the names of their roles.
    """
    from headgate.cli.ask.facts_file import answering, models_of, read_model_file, read_shipped_model, state_of, time_of
    from headgate.cli.ask.impact import print_consequences
    from headgate.cli.ask.options import AskError
    from headgate.decision.diff.compare import EvaluatedSide
    from headgate.decision.diff.what_if import difference
    from headgate.model.vocabulary import MODELS

    first, second = (read_shipped_model(each) if each in MODELS else read_model_file(Path(each)) for each in (old, new))
    state, past = state_of(facts, on.revision), on.revision is not None
    if first.name not in state.sources:
        raise AskError(f"the model `{first.name}` governs nothing in these facts; they know {', '.join(state.sources)}")
    models = models_of(state, [*map(read_model_file, on.model), first], past=past)
    now = time_of(on.at, state, past=past)
    changed = {**models, first.name: replace(second, name=first.name)}
    before, after = (EvaluatedSide(answering(each, state.facts, on.engine), now) for each in (models, changed))
    print_consequences(state.facts, difference(before, after), json=on.json)
    return 0
