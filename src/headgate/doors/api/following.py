"""Which pipeline a definition's schedule follows, and that it does not follow itself."""

from collections.abc import Iterator, Mapping
from typing import Any

from headgate.control.command import InvalidError
from headgate.doors.services import Services
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource
from headgate.pipelines.circles import goes_round
from headgate.pipelines.scheduler import project_of


def require_no_circle(services: Services, caller: Caller, name: str, place: ResourceId, after: str | None) -> None:
    """Raise `InvalidError` if a pipeline would come after itself, as far as the caller may see what it comes after."""
    if after is None:
        return
    control = services.control
    facts = control.snapshot
    project = project_of(facts, place)
    documents = services.store.documents("pipeline")
    shown = [facts.resources[ResourceId(each)] for each in documents if _shown(services, caller, each)]
    beside = [each for each in shown if project_of(facts, each.id) == project]

    def before(each: str) -> Iterator[str]:
        yield from [after] if each == name else _followed(beside, documents, each)

    if goes_round(name, before):
        raise InvalidError(f"`{name}` would come after itself: `{after}` comes after it, or is it")


def _shown(services: Services, caller: Caller, id: str) -> bool:
    control = services.control
    return id in control.snapshot.resources and control.sees(caller, ResourceId(id))


def _followed(beside: list[Resource], documents: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield what the pipelines of a name come after."""
    for each in beside:
        schedule = documents[each.id].get("schedule") if each.name == name else None
        if schedule and schedule.get("after"):
            yield schedule["after"]
