"""The index of commands: which module has which, so that a command imports its own module only and starts fast."""

from collections.abc import Mapping, Sequence
from typing import Final

COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "operator.serve": ("setup", "serve", "worker", "demo"),
    "operator.doctor": ("doctor",),
    "api.auth": ("auth",),
    "api.sessions": ("session",),
    "operator.deployment_users": ("deployment-user",),
    "operator.break_glass": ("break-glass",),
    "api.users": ("user",),
    "api.service_principals": ("service-principal",),
    "api.tokens": ("token",),
    "api.groups": ("group",),
    "api.invitations": ("invitation",),
    "api.projects": ("project",),
    "api.teams": ("team",),
    "api.roles": ("role",),
    "api.settings": ("setting",),
    "api.assignments": ("assignment",),
    "api.resources": ("resource",),
    "api.databases": ("database",),
    "api.connections": ("connection",),
    "api.pipelines": ("pipeline",),
    "api.runs": ("run",),
    "api.lineage": ("lineage",),
    "api.sql": ("sql",),
    "api.access": ("access",),
    "api.requests": ("request",),
    "api.change_requests": ("change-request",),
    "api.agreements": ("agreement",),
    "api.notifications": ("notification",),
    "api.audit": ("audit",),
    "api.status": ("status",),
    "api.raw": ("api",),
    "operator.log": ("log",),
    "operator.operators": ("operator",),
    "operator.organization": ("organization",),
    "operator.store": ("store",),
    "operator.secrets": ("secret",),
    "operator.catalog": ("catalog",),
    "operator.warehouse": ("warehouse",),
    "model.commands": ("model",),
    "facts.commands": ("facts",),
}
"""The modules below `headgate.cli`, each with its commands and groups of commands."""


def find_modules(words: Sequence[str]) -> Sequence[str]:
    """Return the modules that have the command in the words after `headgate`; every module if no command is found."""
    named = next((word for word in words if not word.startswith("-")), None)
    return tuple(module for module, names in COMMANDS.items() if named in names) or tuple(COMMANDS)
