"""Dex in a process of its own: a real OpenID Connect provider with one user, if it was built (`tools/dex`)."""

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.conftest import IN_CI

CLIENT, SECRET = "headgate", "a-secret-of-the-test"
EMAIL, PASSWORD = "ann@acme.com", "a password at the provider"
WITHIN = 30.0


def dex() -> Path:
    """Return the program; without one, skip the test, or fail it in CI if Go is installed to build it."""
    named = os.environ.get("DEX")
    if named == "none":
        pytest.skip("`tools/dex` could not build Dex; its output has the reason")
    if named:
        return Path(named)
    if IN_CI and shutil.which("go"):
        pytest.fail(
            "DEX is not set, although Go is installed; start the tests by `.ci/run`, which builds Dex", pytrace=False
        )
    pytest.skip("Dex is not built: set DEX to the path that `tools/dex` prints; it needs Go to build Dex")


@contextmanager
def running(program: Path, redirect: str, port: int = 0) -> Iterator[str]:
    """Run Dex, which redirects users to `redirect`; yield its address."""
    told = {"client": CLIENT, "secret": SECRET, "redirect": redirect, "email": EMAIL, "password": PASSWORD}
    command = [str(program), f"-port={port}", *(f"-{name}={value}" for name, value in told.items())]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with process.stderr as lines:
        try:
            found = next((match for line in lines if (match := re.search(r"issuer (http://\S+)", line))), None)
            assert found is not None, f"Dex ended with {process.wait(WITHIN)}"
            # Read the rest of the output; otherwise the pipe may fill up and block Dex.
            threading.Thread(target=lambda: list(lines), daemon=True).start()
            yield found[1]
        finally:
            process.kill()
            process.wait(WITHIN)


def back_from(browser: httpx.Client, address: str, ours: str) -> str:
    """Log in at Dex as its user, and return the redirect to an address that begins with `ours`."""
    answer = browser.get(address)
    while True:
        if answer.is_redirect:
            to = str(answer.url.join(answer.headers["location"]))
            if to.startswith(ours):
                return to
            answer = browser.get(to)
        else:
            assert answer.status_code == 200, answer.text
            action = re.search(r'<form method="post" action="([^"]*)"', answer.text)
            form = {"login": EMAIL, "password": PASSWORD}
            to = str(answer.url.join(action[1].replace("&amp;", "&"))) if action and action[1] else str(answer.url)
            answer = browser.post(to, data=form)
