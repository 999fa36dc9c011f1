"""`headgate facts`: the export of an organization's facts as a file, and every question of the decision core about it."""

from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.command_groups import add_command_group
from headgate.cli.facts.export import export_facts
from headgate.cli.facts.options import (
    At,
    AtRevision,
    ContextWords,
    EngineName,
    ModelFiles,
    NewRole,
    OfRole,
    OfSubject,
    On,
    Related,
    With,
    exits_with_answer,
)
from headgate.cli.options import OutputMode
from headgate.cli.scenarios.commands import Answering

Facts = Annotated[Path, typer.Argument(metavar="FACTS", help="a facts file; `headgate facts export` writes one")]
Principal = Annotated[
    str,
    typer.Option(
        metavar="ID",
        help="the id of the principal, or of its token or run; not a name: a facts file has only ids of principals",
    ),
]
Action = Annotated[str, typer.Argument(metavar="ACTION", help="an action, for example table.select")]
Place = Annotated[
    str, typer.Argument(metavar="RESOURCE", help="a resource by full name or id, for example lake.raw.flights")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    facts = add_command_group(app, "facts", "Facts files: questions about access without a server.")
    facts.command("export", epilog="Example: headgate facts export .headgate")(export_facts)
    facts.command(
        "check", epilog="Example: headgate facts check facts.jsonl table.select lake.raw.flights --principal p_1"
    )(exits_with_answer(check))
    facts.command(
        "list-resources", epilog="Example: headgate facts list-resources facts.jsonl table.select --principal p_1"
    )(exits_with_answer(list_resources))
    facts.command(
        "list-principals", epilog="Example: headgate facts list-principals facts.jsonl table.select lake.raw.flights"
    )(exits_with_answer(list_principals))
    facts.command(
        "explain", epilog="Example: headgate facts explain facts.jsonl table.select lake.raw.flights --principal p_1"
    )(exits_with_answer(explain))
    facts.command("what-if", epilog="Example: headgate facts what-if facts.jsonl changes.jsonl")(
        exits_with_answer(what_if)
    )
    facts.command("diff", epilog="Example: headgate facts diff facts.jsonl 40 --revision 42")(exits_with_answer(diff))


def check(
    facts: Facts,
    action: Action,
    resource: Place,
    principal: Principal,
    *,
    at: At = None,
    revision: AtRevision = None,
    model_file: ModelFiles = None,
    engine: EngineName = Answering.ENGINE,
    output: OutputMode = "table",
    related: Related = None,
    context: ContextWords = None,
    role: OfRole = None,
    subject: OfSubject = None,
    new_role: NewRole = None,
) -> int:
    """Check whether a principal may do ACTION on RESOURCE. The exit code is 0 for allow, 1 for deny, 2 for an error."""
    from headgate.cli.facts.facts_file import opened
    from headgate.cli.facts.names import caller_of, question_of, resource_of
    from headgate.cli.facts.output import print_decision

    on = On(at, revision, model_file or (), engine, output)
    moment = opened(facts, on)
    known, models = moment.answers.facts, moment.answers.models
    place = resource_of(known, resource)
    decision = moment.answers.check(
        question_of(
            models,
            known,
            caller_of(known, principal),
            (action, place),
            With(related or (), context or (), role, subject, new_role),
        ),
        moment.now,
    )
    print_decision(known, decision, json=on.json)
    return 0 if decision.allowed else 1


def list_resources(
    facts: Facts,
    action: Action,
    principal: Principal,
    *,
    at: At = None,
    revision: AtRevision = None,
    model_file: ModelFiles = None,
    engine: EngineName = Answering.ENGINE,
    output: OutputMode = "table",
) -> int:
    """Show the resources on which a principal may do ACTION."""
    from headgate.cli.facts.facts_file import opened
    from headgate.cli.facts.names import action_of, caller_of
    from headgate.cli.facts.output import print_resources

    on = On(at, revision, model_file or (), engine, output)
    moment = opened(facts, on)
    known = moment.answers.facts
    found = moment.answers.list_resources(
        caller_of(known, principal), action_of(moment.answers.models, action), moment.now
    )
    print_resources(known, found, json=on.json)
    return 0


def list_principals(
    facts: Facts,
    action: Action,
    resource: Place,
    *,
    at: At = None,
    revision: AtRevision = None,
    model_file: ModelFiles = None,
    engine: EngineName = Answering.ENGINE,
    output: OutputMode = "table",
) -> int:
    """Show the principals that may do ACTION on RESOURCE. They are shown by their ids."""
    from headgate.cli.facts.facts_file import opened
    from headgate.cli.facts.names import action_of, resource_of
    from headgate.cli.facts.output import print_people

    on = On(at, revision, model_file or (), engine, output)
    moment = opened(facts, on)
    place = resource_of(moment.answers.facts, resource)
    print_people(
        moment.answers.list_principals(action_of(moment.answers.models, action), place, moment.now), json=on.json
    )
    return 0


def explain(
    facts: Facts,
    action: Action,
    resource: Place,
    principal: Principal,
    *,
    at: At = None,
    revision: AtRevision = None,
    model_file: ModelFiles = None,
    engine: EngineName = Answering.ENGINE,
    output: OutputMode = "table",
    related: Related = None,
    context: ContextWords = None,
    role: OfRole = None,
    subject: OfSubject = None,
    new_role: NewRole = None,
    reveal: Annotated[bool, typer.Option("--reveal", help="show also what the principal may not see")] = False,
) -> int:
    """Explain why a principal may or may not do ACTION.

    For a denied action it shows the assignments that would allow it. The answer is the one that the principal would get: a name that does not exist gets the same answer as one that the
    principal may not see. The exit code is that of `check`.
    """
    from headgate.cli.facts.explain import print_explanation

    return print_explanation(
        facts,
        (action, resource, principal),
        With(related or (), context or (), role, subject, new_role),
        On(at, revision, model_file or (), engine, output),
        reveal=reveal,
    )


def what_if(
    facts: Facts,
    changes: Annotated[Path, typer.Argument(metavar="CHANGES", help="a file of changes as JSON, one on each line")],
    *,
    at: At = None,
    revision: AtRevision = None,
    model_file: ModelFiles = None,
    engine: EngineName = Answering.ENGINE,
    output: OutputMode = "table",
) -> int:
    """Show the effect of changes before they are made.

    The command shows the actions that each principal gains or loses, and the pipelines that break or open.
    """
    from headgate.cli.facts.facts_file import changes_of, opened
    from headgate.cli.facts.impact import print_consequences
    from headgate.decision.diff.what_if import analyze_changes

    on = On(at, revision, model_file or (), engine, output)
    moment = opened(facts, on)
    found = analyze_changes(moment.answers, changes_of(changes, moment.answers), moment.now)
    print_consequences(moment.answers.facts, found, json=on.json)
    return 0


def diff(
    facts: Facts,
    earlier: Annotated[int, typer.Argument(metavar="EARLIER", help="the revision to compare with")],
    *,
    at: At = None,
    revision: AtRevision = None,
    model_file: ModelFiles = None,
    engine: EngineName = Answering.ENGINE,
    output: OutputMode = "table",
) -> int:
    """Show the decisions that differ between two revisions.

    They are the EARLIER revision and that of `--revision`, each with its own models and time.
    """
    from dataclasses import replace

    from headgate.cli.facts.facts_file import opened
    from headgate.cli.facts.impact import print_consequences
    from headgate.decision.diff.what_if import compute_difference

    on = On(at, revision, model_file or (), engine, output)
    before, after = opened(facts, replace(on, revision=earlier)), opened(facts, on)
    print_consequences(after.answers.facts, compute_difference(before, after), json=on.json)
    return 0
