"""Names of subjects: an assignment that a check allows can be requested for a subject that the caller may not see."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.control.access.assignments import AssignRole, ChangeRole, RevokeRole
from headgate.control.kernel.command import Command, PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, CallerGoneError, InvalidError, NotFoundError
from headgate.control.kernel.ports import Head, LogWrite
from headgate.control.models.library import FixedModels
from headgate.control.organizations.organization import Organization, Organizations
from headgate.decision.context import model_for
from headgate.decision.tree import subject_kind
from headgate.decision.types import Question
from headgate.endpoints.common.subject_lookup import resolve_assignment
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Assignment
from headgate.model.model import Model
from headgate.store import open_stores
from tests.fakes.generated_histories import (
    BEGINNING,
    RESOURCES,
    ROOT,
    SUBJECTS,
    USERS,
    bosses,
    histories,
)
from tests.fakes.generated_histories import NOW as TIMES
from tests.fakes.generated_models import ROLES, model_sets, with_a_boss

pytestmark = pytest.mark.timeout(600)


@contextmanager
def opened(models: Mapping[str, Model], changes: list[Change], now: float) -> Iterator[Organization]:
    """Open an organization with these changes in an in-memory store."""
    with closing(open_stores(":memory:")) as stores:
        stores.log(ROOT).append(Head(), LogWrite(now, None, "import", tuple(changes), ()))
        yield Organizations(stores, FixedModels(models), lambda: now).open(ROOT)


def outcome(organization: Organization, asked: Question) -> str:
    """Return whether a request for this assignment is executed, refused, or invalid whatever the caller is."""
    try:
        organization.control.preview(_command(organization, asked), asked.caller)
    except (InvalidError, AlreadyExistsError):
        return "invalid"
    except (PermissionDeniedError, NotFoundError, CallerGoneError):
        return "refused"
    return "executed"


def _command(organization: Organization, asked: Question) -> Command:
    place, subject = resolve_assignment(organization, asked, asked.subject or "")
    role, new_role = asked.role or "", asked.new_role or ""
    if asked.action == "assignment.add":
        return AssignRole(subject, role, place)
    if asked.action == "assignment.remove":
        return RevokeRole(subject, role, place)
    return ChangeRole(subject, role, new_role, place)


@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
@given(
    model_sets().map(lambda models: {name: with_a_boss(model) for name, model in models.items()}),
    histories(1),
    st.sampled_from(TIMES),
)
def test_a_request_for_an_assignment_agrees_with_the_check_for_every_kind_of_subject(
    models: Mapping[str, Model], batches: list[list[Change]], now: float
) -> None:
    changes = [*BEGINNING, *(change for batch in batches for change in batch), *bosses(models)]
    with opened(models, changes, now) as organization:
        for asked in _questions(organization):
            allowed = organization.control.ask(asked).allowed
            assert outcome(organization, asked) in (("executed", "invalid") if allowed else ("refused", "invalid")), (
                asked
            )


def _is_live(organization: Organization, given: Assignment) -> bool:
    """Whether the role of an assignment is one that its subject can be assigned there now; others are revoked by another rule."""
    facts = organization.control.snapshot
    resource, kind = facts.resources[given.resource], subject_kind(facts, given.subject)
    model = model_for(organization.control.models, facts, resource.type, resource.id)
    role = model.roles.get(given.role) if model else None
    assignable = role is not None and resource.type in role.on and kind in role.to
    return model is not None and given.model == model.name and (assignable or given.role in facts.custom_roles)


def _questions(organization: Organization) -> Iterator[Question]:
    facts = organization.control.snapshot
    for user in USERS:
        caller = Caller(user)
        for subject in (*SUBJECTS, *RESOURCES, PrincipalId("nobody")):
            for place in (ROOT, *SUBJECTS[-2:], ResourceId("d1"), ResourceId("t1")):
                yield Question(caller, "assignment.add", ResourceId(place), role=ROLES[0], subject=subject)
            for role, place, reason in facts.assignments.get(subject, ()):
                if not reason:
                    if _is_live(organization, facts.assignments[subject][role, place, reason]):
                        yield Question(caller, "assignment.remove", place, role=role, subject=subject)
                    yield Question(caller, "assignment.change", place, role=role, subject=subject, new_role=ROLES[1])
