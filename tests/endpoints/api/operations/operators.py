"""Operators of a deployment, for the tests of the routes that only they may use."""

from headgate.control.deployment.operators import add_operator
from headgate.control.kernel.metadata import INTERNAL
from tests.app.deployment_harness import DeploymentHarness
from tests.endpoints.api.resources.test_organizations import login


def log_in_operator(world: DeploymentHarness, name: str = "olga") -> str:
    """Create a user of the deployment with the role of an operator; return the secret of the user's session."""
    secret = login(world, name)
    user = world.deployment.auth_services.authentication.user_of(name)
    add_operator(world.deployment.organizations.deployment.control, user.principal, INTERNAL)
    return secret
