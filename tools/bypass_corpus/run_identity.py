"""An active run of a query with given declarations and a given run-as principal."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from headgate.control.authentication.authenticator import format_run_secret
from headgate.control.control import Control
from headgate.control.identity.tokens import token_document
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.ports import DocumentPut
from headgate.control.pipelines.runs import SECRET
from headgate.facts.changes import Edge, ResourceCreated, RunAsSet, RunStarted
from headgate.facts.ids import PrincipalId, ResourceId, RunId


def begin(control: Control, run: RunId, run_as: str, inputs: Sequence[str], into: str) -> str:
    """Start a run of a new query, and return the secret of its identity."""
    secret = secrets.token_urlsafe(32)
    control.execute(_Begin(run, PrincipalId(run_as), tuple(inputs), into, secret), None)
    return format_run_secret(run, secret)


@dataclass(frozen=True, slots=True)
class _Begin:
    """A command that creates the query, and starts a run of it with its identity."""

    run: RunId
    run_as: PrincipalId
    inputs: tuple[str, ...]
    into: str
    secret: str
    name: str = "bypass.begin_run"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Return the changes; the query declares its tables by name, as a definition does."""
        pipeline, (*above, title) = ResourceId(f"pl-{self.run}"), self.into.split(".")
        layer = Edge(_id(view, tuple(above)), name=title)
        relations = {
            "inputs": tuple(Edge(_id(view, tuple(name.split("."))), name=name) for name in self.inputs),
            "output_layers": (layer,),
            "outputs": (layer,),
        }
        made = ResourceCreated(pipeline, "query", ResourceId("project"), pipeline, None, relations, {})
        changes = (made, RunAsSet(pipeline, self.run_as), RunStarted(self.run, pipeline, self.run_as))
        return CommandEffect(changes, (DocumentPut(SECRET, self.run, token_document(self.run_as, self.secret)),))


def _id(view: CommandContext, names: tuple[str, ...]) -> ResourceId:
    found = view.facts.find(names)
    assert found is not None, ".".join(names)  # noqa: S101 (the fixture has it)
    return found.id
