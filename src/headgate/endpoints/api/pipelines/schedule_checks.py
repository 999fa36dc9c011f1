"""Cycle check of schedules: a pipeline must not run after itself."""

from collections.abc import Iterator

from headgate.control.kernel.errors import InvalidError
from headgate.control.organizations.organization import Organization
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.pipelines.scheduling.scheduler import has_cycle, same_project


def require_acyclic_schedule(
    organization: Organization, caller: Caller, name: str, place: ResourceId, after: str | None
) -> None:
    """Raise `InvalidError` if a pipeline would run after itself, directly or through other pipelines.

    Only pipelines that the caller may see are checked, so that the error reveals no hidden schedule.
    """
    if after is None:
        return
    control, documents = organization.control, organization.store.documents("pipeline")
    there = [each for each in control.snapshot.resources.values() if each.id in documents]

    def before(pipeline: str) -> Iterator[str]:
        if pipeline == name:
            yield after
            return
        for each in there:
            if (
                each.name == pipeline
                and same_project(control.snapshot, place, each.id)
                and control.is_visible(caller, each.id)
            ):
                schedule = documents[each.id].get("schedule") or {}
                yield from filter(None, (schedule.get("after"),))

    if after == name:
        raise InvalidError(f"`schedule.after` of `{name}` names `{name}` itself; name another pipeline")
    if has_cycle(name, before):
        raise InvalidError(
            f"`{name}` would run after itself: `schedule.after` is `{after}`, which runs after `{name}`; remove the cycle"
        )
