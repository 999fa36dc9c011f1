"""`headgate ask`: every question of the decision core, on a facts file, without a server."""

from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.ask.options import On, With, with_options

Facts = Annotated[Path, typer.Argument(metavar="FACTS", help="a facts file; `headgate facts export` writes one")]
As = Annotated[
    str, typer.Option("--as", metavar="PRINCIPAL", help="who asks: a principal, or the id of a token or run")
]
Action = Annotated[str, typer.Argument(metavar="ACTION", help="for example table.select")]
Place = Annotated[str, typer.Argument(metavar="RESOURCE", help="an id or a full name, for example lake.raw.flights")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    asking = typer.Typer(name="ask", help="Ask a facts file: who may do what, why, and what if.", no_args_is_help=True)
    for name, each in (("check", check), ("list", which), ("who", who), ("explain", explain), ("what-if", what_if)):
        asking.command(name)(with_options(each))
    asking.command("diff")(with_options(diff))
    app.add_typer(asking)


def check(facts: Facts, action: Action, resource: Place, principal: As, more: With, on: On) -> int:
    """May PRINCIPAL do ACTION on RESOURCE? The exit code is 0 for allow, 1 for deny, 2 if it cannot be asked."""
    from headgate.cli.ask.facts_file import opened
    from headgate.cli.ask.names import caller_of, question_of, resource_of
    from headgate.cli.ask.output import print_decision

    moment = opened(facts, on)
    known, models = moment.answers.facts, moment.answers.models
    place = resource_of(known, resource)
    decision = moment.answers.check(
        question_of(models, known, caller_of(known, principal), (action, place), more), moment.now
    )
    print_decision(known, decision, json=on.json)
    return 0 if decision.allowed else 1


def which(facts: Facts, action: Action, principal: As, on: On) -> int:
    """Show every resource on which PRINCIPAL may do ACTION."""
    from headgate.cli.ask.facts_file import opened
    from headgate.cli.ask.names import action_of, caller_of
    from headgate.cli.ask.output import print_resources

    moment = opened(facts, on)
    known = moment.answers.facts
    found = moment.answers.list_resources(
        caller_of(known, principal), action_of(moment.answers.models, action), moment.now
    )
    print_resources(known, found, json=on.json)
    return 0


def who(facts: Facts, action: Action, resource: Place, on: On) -> int:
    """Show everybody who may do ACTION on RESOURCE."""
    from headgate.cli.ask.facts_file import opened
    from headgate.cli.ask.names import action_of, resource_of
    from headgate.cli.ask.output import print_people

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
    principal: As,
    more: With,
    on: On,
    reveal: Annotated[  # noqa: FBT002 (an option of the command line)
        bool, typer.Option("--reveal", help="tell also what PRINCIPAL may not know: you have the facts anyway")
    ] = False,
) -> int:
    """Say why PRINCIPAL may or may not do ACTION on RESOURCE, and what would change it, as it would be told to them.

    The exit code is that of `check`; a name that does not exist is answered like one that PRINCIPAL may not know.
    """
    from headgate.cli.ask.explain import explained

    return explained(facts, (action, resource, principal), more, on, reveal=reveal)


def what_if(
    facts: Facts,
    changes: Annotated[Path, typer.Argument(metavar="CHANGES", help="changes as JSON, one on each line")],
    on: On,
) -> int:
    """Say what would follow from changes: which decisions flip, who loses and gains what, which pipelines break or open."""
    from headgate.cli.ask.facts_file import changes_of, opened
    from headgate.cli.ask.impact import print_consequences
    from headgate.cli.ask.options import AskError
    from headgate.decision.diff.what_if import what_if as foreseen

    moment, proposed = opened(facts, on), changes_of(changes)
    try:
        found = foreseen(moment.answers, proposed, moment.now)
    except KeyError as error:
        raise AskError(f"a change in `{changes}` is about `{error.args[0]}`, which is not there") from None
    print_consequences(moment.answers.facts, found, json=on.json)
    return 0


def diff(
    facts: Facts,
    earlier: Annotated[int, typer.Argument(metavar="EARLIER", help="a revision")],
    on: On,
) -> int:
    """Say what is decided otherwise than at an EARLIER revision, each with its models and its time."""
    from dataclasses import replace

    from headgate.cli.ask.facts_file import opened
    from headgate.cli.ask.impact import print_consequences
    from headgate.decision.diff.what_if import difference

    before, after = opened(facts, replace(on, revision=earlier)), opened(facts, on)
    print_consequences(after.answers.facts, difference(before, after), json=on.json)
    return 0
