"""Two operators change the model of one organization at once, over HTTP: at one server on SQLite, or two on PostgreSQL."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from headgate.app.deployment import open_deployment
from tests.survival.client import Client, http
from tests.survival.model_operators import OperatorClient, PortSecrets, create_port_with_secrets
from tests.survival.model_replicas import OPERATORS, PIER, model_in_log
from tests.survival.replica import replica, settings_of
from tests.survival.replicas import two
from tests.threads import call_at_once

ROUNDS = 6


@contextmanager
def operators_at(how: str, folder: Path, url: str | None, secrets: PortSecrets) -> Iterator[list[OperatorClient]]:
    """Serve the deployment, and yield a client of each operator; at replicas of their own if there are two."""
    with http() as connections:
        if url is None:
            with replica(folder) as address:
                yield [OperatorClient(Client(connections, address, each), secrets) for each in secrets.operators]
        else:
            with two(how, folder, url) as addresses:
                known = zip(addresses, secrets.operators, strict=True)
                yield [OperatorClient(Client(connections, *each), secrets) for each in known]


@pytest.mark.parametrize("how", ["threads", "processes", "sqlite"])
def test_one_of_two_conflicting_upgrades_is_made_and_every_replica_decides_by_it(
    how: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = None if how == "sqlite" else request.getfixturevalue("postgres_url")
    with closing(open_deployment(settings_of(tmp_path, url))) as deployment:
        secrets = create_port_with_secrets(deployment)
    version, winners = 1, Counter[str]()
    with operators_at(how, tmp_path, url, secrets) as operators:
        for _ in range(ROUNDS):
            wanted = [{"model": "harbour", "version": each} for each in (1, 2, 3) if each != version]
            confirmed = [each.confirm(body) for each, body in zip(operators, wanted, strict=True)]
            work = zip(operators, wanted, confirmed, strict=True)
            answers = call_at_once(partial(each.change, *what) for each, *what in work)

            assert sorted(each.status_code for each in answers) == [200, 409], [each.text for each in answers]
            made = [each.status_code for each in answers].index(200)
            version = wanted[made]["version"]
            winners[OPERATORS[made]] += 1
            assert [each.decides_by() for each in operators] == [("harbour", version)] * 2
            confirmation = operators[1 - made].confirm(wanted[1 - made])
            assert confirmation in answers[1 - made].text
            assert confirmation not in confirmed
        assert [each.commands().count("model.upgrade") for each in operators] == [ROUNDS] * 2

    with closing(open_deployment(settings_of(tmp_path, url))) as deployment:
        assert model_in_log(deployment.organizations) == ("harbour", version)
        entries = deployment.organizations.deployment.store.entries()
        authorized = Counter(each.actor for each in entries if each.command == "organization.change_model")
        assert winners <= authorized
        assert authorized.keys() <= set(OPERATORS)


@pytest.mark.parametrize("how", ["threads", "sqlite"])
def test_a_removal_and_a_choice_of_a_model_at_once_leave_every_used_model_installed(
    how: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = None if how == "sqlite" else request.getfixturevalue("postgres_url")
    with closing(open_deployment(settings_of(tmp_path, url))) as deployment:
        secrets = create_port_with_secrets(deployment)

    with operators_at(how, tmp_path, url, secrets) as operators:
        for number in range(ROUNDS):
            chooser, remover = operators if number % 2 else operators[::-1]
            choose = partial(chooser.change, {"model": "pier"}, chooser.confirm({"model": "pier"}))
            answers = call_at_once([choose, partial(remover.remove, "pier")])

            is_chosen = answers[0].status_code == 200
            # A removal that ended before the last step of the choice was made, and is undone by that step.
            expected = ([200, 422], [200, 200]) if is_chosen else ([422, 200],)
            assert [each.status_code for each in answers] in expected, [each.text for each in answers]
            for each in operators:
                assert each.decides_by() == (("pier", 1) if is_chosen else ("harbour", 1))
                assert ("pier" in each.installed()) == is_chosen
            if is_chosen:
                home = {"model": "harbour", "version": 1}
                assert chooser.change(home, chooser.confirm(home)).status_code == 200
            else:
                assert chooser.install(PIER).status_code == 201
