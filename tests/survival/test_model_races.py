"""Operators change, install and remove models at once, over one store: one change is made at a time, and all replicas obey it."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization
from headgate.control.kernel.errors import CommandError, InvalidError, NotFoundError
from headgate.control.models import change
from headgate.control.models.change import ConfirmationRequiredError, ModelChange, ModelChangePreview, RequestedModel
from headgate.control.models.commands import RemoveModel
from headgate.control.models.installations import list_installed
from headgate.control.models.usage import list_users, require_unused
from headgate.control.organizations.organization import Organization
from headgate.facts.ids import ResourceId
from tests.survival.model_replicas import (
    ANN,
    OPERATORS,
    PIER,
    SOURCES,
    ModelReplica,
    install,
    model_in_log,
    opened,
    two_replicas,
)
from tests.threads import call_at_once

ROUNDS = 6
TO_PIER = RequestedModel("pier")
Replicas = tuple[ModelReplica, ModelReplica]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    return request.getfixturevalue("postgres_url") if request.param == "postgresql" else tmp_path


@pytest.fixture
def replicas(store: str | Path) -> Iterator[Replicas]:
    with two_replicas(store) as both:
        yield both


@pytest.fixture
def previewed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let neither of two changes be written before the effects of both are computed."""
    together, thread, preview = threading.Barrier(2), threading.local(), change.preview_change

    def wait(organization: Organization, command: ModelChange) -> ModelChangePreview:
        found = preview(organization, command)
        if not hasattr(thread, "waited"):
            thread.waited = True
            together.wait(30)
        return found

    monkeypatch.setattr(change, "preview_change", wait)


def result_of(call: Callable[[], None]) -> CommandError | None:
    """Return the error of a call, None if it succeeded."""
    try:
        call()
    except CommandError as error:
        return error
    return None


def change_at_once(replicas: Replicas, *wanted: RequestedModel) -> list[CommandError | None]:
    """Make two confirmed changes at once, one at each replica; return their errors."""
    confirmed = [each.confirm(model) for each, model in zip(replicas, wanted, strict=True)]
    work = zip(replicas, wanted, confirmed, strict=True)
    return call_at_once(partial(result_of, partial(each.change, *what)) for each, *what in work)


def remove(replica: ModelReplica, model: str) -> None:
    """Remove a model, as the API does."""
    organizations = replica.organizations
    organizations.refresh()
    users = list_users(organizations, model)
    organizations.deployment.control.execute(RemoveModel(model, users), replica.operator)
    require_unused(organizations, model)


def require_agreement(replicas: Replicas, store: str | Path) -> tuple[str, int]:
    """Require that every replica, also a new one, decides by the model in the log; return the model and its version."""
    with opened(store) as later:
        everywhere = [each.decides_by() for each in (*replicas, later)]
        said = model_in_log(later.organizations)
    assert everywhere == [said] * 3
    return said


def attempts(replicas: Replicas) -> list[str | None]:
    """Return the operators in the entries of the deployment's log that authorize a change of a model."""
    entries = replicas[0].organizations.deployment.store.entries()
    return [each.actor for each in entries if each.command == "organization.change_model"]


class TestTwoUpgrades:
    @pytest.mark.usefixtures("previewed_together")
    def test_one_of_two_conflicting_upgrades_is_made_and_the_other_needs_a_confirmation_of_its_new_effects(
        self, replicas: Replicas, store: str | Path
    ) -> None:
        for _ in range(ROUNDS):
            _, before = require_agreement(replicas, store)
            revision, authorized = replicas[0].port.control.snapshot.revision, len(attempts(replicas))
            others = [each for each in SOURCES if each != before]
            wanted = [RequestedModel("harbour", each) for each in others]
            confirmed = [each.confirm(model) for each, model in zip(replicas, wanted, strict=True)]

            errors = change_at_once(replicas, *wanted)

            (refused,) = (number for number, error in enumerate(errors) if error is not None)
            assert require_agreement(replicas, store) == ("harbour", others[1 - refused])
            assert isinstance(errors[refused], ConfirmationRequiredError)
            assert replicas[refused].confirm(wanted[refused]) in str(errors[refused])
            assert replicas[refused].confirm(wanted[refused]) != confirmed[refused]
            assert replicas[0].port.control.snapshot.revision == revision + 1
            assert sorted(map(str, attempts(replicas)[authorized:])) == sorted(OPERATORS)

    @pytest.mark.usefixtures("previewed_together")
    def test_the_same_upgrade_by_two_operators_is_written_once(self, replicas: Replicas, store: str | Path) -> None:
        revision = replicas[0].port.control.snapshot.revision

        errors = change_at_once(replicas, RequestedModel("harbour", 2), RequestedModel("harbour", 2))

        assert errors == [None, None]
        assert require_agreement(replicas, store) == ("harbour", 2)
        assert replicas[0].port.control.snapshot.revision == revision + 1
        assert sorted(map(str, attempts(replicas))) == sorted(OPERATORS)

    @pytest.mark.usefixtures("previewed_together")
    def test_one_of_an_upgrade_and_a_change_to_another_model_is_made(
        self, replicas: Replicas, store: str | Path
    ) -> None:
        errors = change_at_once(replicas, RequestedModel("harbour", 3), TO_PIER)

        expected = [("harbour", 3), ("pier", 1)][errors.index(None)]
        assert require_agreement(replicas, store) == expected
        assert [type(each) for each in errors if each is not None] == [ConfirmationRequiredError]

    def test_upgrades_that_race_freely_are_made_one_after_the_other(
        self, replicas: Replicas, store: str | Path
    ) -> None:
        made = 0
        for number in range(ROUNDS):
            _, before = require_agreement(replicas, store)
            wanted = [RequestedModel("harbour", (before + offset) % 3 + 1) for offset in (number % 2, 1)]
            errors = change_at_once(replicas, *wanted)
            made += errors.count(None) if wanted[0] != wanted[1] else 1
            assert all(each is None or isinstance(each, ConfirmationRequiredError) for each in errors)

        require_agreement(replicas, store)
        commands = [each.command for each in replicas[0].port.store.entries()]
        assert commands.count("model.upgrade") == made


class TestARemoval:
    def require_consistent(self, replicas: Replicas, store: str | Path) -> tuple[bool, bool]:
        """Require that the organization can be opened everywhere, and that its model is installed.

        Returns whether `pier` is installed, and whether it decides.
        """
        model, _ = require_agreement(replicas, store)
        for each in replicas:
            each.organizations.refresh()
        installed = [list_installed(each.organizations.deployment.control.snapshot) for each in replicas]
        assert all(model in each for each in installed)
        assert installed[0].keys() == installed[1].keys()
        return "pier" in installed[0], model == "pier"

    def test_a_model_that_was_removed_after_its_preview_is_not_chosen(
        self, replicas: Replicas, store: str | Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        confirmed, preview = replicas[0].confirm(TO_PIER), change.preview_change

        def removed_meanwhile(organization: Organization, command: ModelChange) -> ModelChangePreview:
            found = preview(organization, command)
            remove(replicas[1], "pier")
            return found

        monkeypatch.setattr(change, "preview_change", removed_meanwhile)
        with pytest.raises(InvalidError, match="the access model `pier` is not installed"):
            replicas[0].change(TO_PIER, confirmed)

        assert self.require_consistent(replicas, store) == (False, False)

    def test_a_model_that_was_chosen_after_its_removal_began_stays_installed(
        self, replicas: Replicas, store: str | Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        control = replicas[1].organizations.deployment.control
        execute = control.execute

        def chosen_meanwhile(*given: Any) -> Any:
            monkeypatch.undo()
            replicas[0].change(TO_PIER)
            return execute(*given)

        monkeypatch.setattr(control, "execute", chosen_meanwhile)
        with pytest.raises(InvalidError, match="the access model `pier` is in use in `port`"):
            remove(replicas[1], "pier")

        assert self.require_consistent(replicas, store) == (True, True)

    def test_a_model_that_was_removed_before_the_last_step_of_its_choice_is_installed_again(
        self, replicas: Replicas, store: str | Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        control = replicas[0].port.control
        execute = control.execute

        def removed_meanwhile(*given: Any) -> Any:
            monkeypatch.undo()
            remove(replicas[1], "pier")
            return execute(*given)

        monkeypatch.setattr(control, "execute", removed_meanwhile)
        replicas[0].change(TO_PIER)

        assert self.require_consistent(replicas, store) == (True, True)

    def test_a_model_that_was_removed_during_the_creation_of_an_organization_is_installed_again(
        self, replicas: Replicas, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        organizations, place = replicas[0].organizations, ResourceId("jetty")
        control = organizations.deployment.control
        execute = control.execute

        def removed_meanwhile(*given: Any) -> Any:
            monkeypatch.undo()
            remove(replicas[1], "pier")
            return execute(*given)

        monkeypatch.setattr(control, "execute", removed_meanwhile)
        create_organization(organizations, OrganizationSpec(place, "jetty", ANN, "Ann", "pier"))

        assert "pier" in list_installed(control.snapshot)
        assert replicas[1].organizations.open(place).control.model.name == "pier"

    def test_a_removal_and_a_choice_at_once_leave_no_organization_under_a_removed_model(
        self, replicas: Replicas, store: str | Path
    ) -> None:
        ended = set[tuple[bool, bool]]()
        for number in range(ROUNDS):
            chooser, remover = replicas if number % 2 else replicas[::-1]
            confirmed = chooser.confirm(TO_PIER)
            choice = partial(result_of, partial(chooser.change, TO_PIER, confirmed))
            errors = call_at_once([choice, partial(result_of, partial(remove, remover, "pier"))])

            assert all(each is None or isinstance(each, InvalidError | NotFoundError) for each in errors)
            state = self.require_consistent(replicas, store)
            assert state == (errors[0] is None, errors[0] is None)
            ended.add(state)
            if errors[0] is None:
                replicas[0].change(RequestedModel("harbour", 1))
            else:
                install(replicas[0].organizations, PIER)
        assert ended <= {(True, True), (False, False)}
