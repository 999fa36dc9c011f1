"""One credential has one caller: at every endpoint, cached or not, in the organization that the request addresses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.control.authentication.caller_resolver import CallerResolver, UnknownCallerError
from headgate.control.identity.principals import AddPrincipal
from headgate.control.organizations.organization import SeveralOrganizationsError
from headgate.control.organizations.suspension import SuspendOrganization
from headgate.facts.ids import PrincipalId
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in

ANN, PASSWORD = PrincipalId("p_ann"), "correct horse battery"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path) as world:
        yield world


@pytest.fixture
def beta(deployment: DeploymentHarness) -> OrganizationClient:
    return deployment.organization("beta", "nekt")


@pytest.fixture
def callers(deployment: DeploymentHarness) -> CallerResolver:
    return CallerResolver(deployment.deployment.identity, deployment.deployment.organizations)


def log_in(deployment: DeploymentHarness, *organizations: OrganizationClient) -> str:
    """Return the session secret of a new user that is a member of these organizations."""
    accounts = deployment.deployment.auth_services.authentication
    accounts.register("ann", login="ann", password=PASSWORD, email="ann@acme.example", verified=True, principal=ANN)
    for each in organizations:
        each.control.execute(AddPrincipal(ANN, "ann", "member"), None)
    return str(accounts.log_in("ann", PASSWORD, {}).secret)


def refused(callers: CallerResolver, secret: str, named: str | None) -> UnknownCallerError:
    with pytest.raises(UnknownCallerError) as error:
        callers.resolve(secret, named)
    assert callers.resolve_cached(secret, named) is None
    return error.value


@pytest.mark.parametrize("by", ["nothing", "name", "id"])
def test_a_token_resolves_to_its_principal_in_its_organization(
    callers: CallerResolver, beta: OrganizationClient, by: str
) -> None:
    named = {"nothing": None, "name": "beta", "id": beta.opened.id}[by]

    found = callers.resolve(beta.tokens["owner"], named)

    assert found == (beta.opened, beta.caller("owner"))


def test_a_token_that_was_looked_up_resolves_from_the_cache_alike(
    callers: CallerResolver, beta: OrganizationClient
) -> None:
    found = callers.resolve(beta.tokens["owner"], None)

    assert callers.resolve_cached(beta.tokens["owner"], None) == found
    assert callers.resolve_cached(beta.tokens["owner"], beta.opened.id) == found


def test_a_token_is_unknown_in_another_organization(
    callers: CallerResolver, deployment: DeploymentHarness, beta: OrganizationClient
) -> None:
    error = refused(callers, beta.tokens["owner"], deployment.opened.id)

    assert (error.addressed, error.is_suspended) == (deployment.opened, False)


@pytest.mark.parametrize(("secret", "named"), [("hg_nothing.like", None), ("hg_nothing.like", "beta")])
def test_an_unknown_secret_addresses_no_organization(
    callers: CallerResolver, beta: OrganizationClient, secret: str, named: str | None
) -> None:
    assert beta.opened.exists
    assert refused(callers, secret, named).addressed is None


def test_a_missing_organization_is_addressed_by_no_request(callers: CallerResolver, beta: OrganizationClient) -> None:
    assert refused(callers, beta.tokens["owner"], "nosuch").addressed is None


def test_a_session_of_one_organization_resolves_without_a_name(
    callers: CallerResolver, deployment: DeploymentHarness, beta: OrganizationClient
) -> None:
    session = log_in(deployment, beta)

    found = callers.resolve(session, None)

    assert (found.organization, found.caller.principal) == (beta.opened, ANN)


def test_a_session_of_several_organizations_has_to_name_one(
    callers: CallerResolver, deployment: DeploymentHarness, beta: OrganizationClient
) -> None:
    session = log_in(deployment, deployment, beta)

    with pytest.raises(SeveralOrganizationsError):
        callers.resolve(session, None)
    assert callers.resolve(session, "beta").organization is beta.opened


def test_a_member_alone_learns_that_an_organization_is_suspended(
    callers: CallerResolver, deployment: DeploymentHarness, beta: OrganizationClient
) -> None:
    beta.control.execute(SuspendOrganization(beta.opened.id), None)

    assert refused(callers, beta.tokens["owner"], None).is_suspended
    assert not refused(callers, deployment.tokens["owner"], "beta").is_suspended
