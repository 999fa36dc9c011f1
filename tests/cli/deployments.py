"""Deployments on a data folder, for the tests of commands that work on one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.settings.settings import default_settings


@contextmanager
def deployment_in(folder: Path) -> Iterator[Deployment]:
    deployment = open_deployment(default_settings({}, folder=folder))
    try:
        yield deployment
    finally:
        deployment.close()
