"""Past revisions: a decision as of a revision uses the facts, the models and the time of that revision."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from headgate.control.kernel.ports import LogEntry
from headgate.decision.as_of import Past, PastError, as_of
from headgate.decision.reference import decide
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import GovernedBy, RoleRevoked
from headgate.facts.fold import fold
from headgate.facts.history import replay_history
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model
from tests.fakes.small_organization import FLIGHTS, MEMBER, NEKT, PEOPLE, PROJECT, RAW, ROOT, THINGS, assigned

LATER = replace(NEKT, hash="later", roles={**NEKT.roles, "viewer": replace(NEKT.roles["viewer"], actions=frozenset())})
OTHER = replace(NEKT, name="other", hash="o")
KNOWN = {model.hash: model for model in (NEKT, LATER, OTHER)}
LOG = (
    LogEntry(1, 100.0, None, "organization.create", PEOPLE),
    LogEntry(2, 200.0, None, "resources", THINGS),
    LogEntry(3, 300.0, None, "assignment.add", (assigned(MEMBER, "viewer", RAW, ends=350.0),)),
    LogEntry(4, 400.0, None, "project.govern", (GovernedBy(PROJECT, "other", "o"),)),
    LogEntry(
        5, 500.0, None, "model.replace", (GovernedBy(PROJECT, NEKT.name, "later"), RoleRevoked(MEMBER, "viewer", RAW))
    ),
)


def then(revision: int, known: Mapping[str, Model] = KNOWN) -> Past:
    return as_of(replay_history(LOG), revision, known)


def allowed(past: Past) -> bool:
    assert past.now is not None
    return decide(past.models, past.facts, Question(Caller(MEMBER), "table.select", FLIGHTS), past.now).allowed


class TestARevision:
    @pytest.mark.parametrize("revision", range(1, 6))
    def test_a_revision_has_the_facts_that_were_written_up_to_it(self, revision: int) -> None:
        changes = [change for entry in LOG[:revision] for change in entry.changes]

        assert then(revision).facts == fold(Snapshot(), changes, revision)

    def test_a_revision_has_the_time_at_which_it_was_written(self) -> None:
        # At the end of the log the assignment has expired, and the decision would be a deny.
        assert then(3).now == 300.0
        assert allowed(then(3))
        assert not allowed(then(2))

    def test_a_revision_has_the_models_that_were_in_force(self) -> None:
        assert then(3).models == {NEKT.name: NEKT}
        assert then(4).models == {NEKT.name: NEKT, "other": OTHER}
        assert then(5).models == {NEKT.name: LATER}

    def test_a_future_revision_is_refused(self) -> None:
        with pytest.raises(PastError, match="the facts file ends before revision 6; use revision 5, its newest"):
            then(6)

    def test_a_revision_with_an_unknown_model_source_is_refused(self) -> None:
        with pytest.raises(PastError, match="the version of the access model `other` that was in force at revision 4"):
            then(4, {NEKT.hash: NEKT})

    def test_a_revision_that_cannot_be_separated_from_later_ones_is_refused(self) -> None:
        with pytest.raises(PastError, match="the facts file has no revision 2; use revision 3, the next one"):
            as_of(replay_history((replace(LOG[0], changes=PEOPLE + THINGS), LOG[2])), 2, KNOWN)


def test_an_empty_log_has_no_revision() -> None:
    with pytest.raises(PastError, match="use revision 0, its newest"):
        as_of(replay_history(()), 1, KNOWN)


def test_the_root_is_governed_by_the_home_model() -> None:
    assert then(1).facts.resources[ROOT].type == "organization"
    assert then(1).models == {NEKT.name: NEKT}
