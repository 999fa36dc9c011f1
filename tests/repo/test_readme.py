"""The README's tour of the API is a session with a server, and prints what it says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.server_process import serving
from tests.repo.sessions import BLOCK, ran, session

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A control plane without Spark; what a shell needs to know to talk to it."""
    monkeypatch.setenv("HEADGATE_SPARK", "0")
    data = tmp_path / "data"
    with serving(data) as server:
        yield {"HEADGATE_URL": server.url, "HEADGATE_DATA": str(data)}


@pytest.mark.timeout(300)
def test_the_tour_of_the_readme_works_as_it_says(served: dict[str, str], tmp_path: Path) -> None:
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    steps = [step for _, run, _, body in blocks if run for step in session(body)]

    assert steps, "the README shows no session"
    for step in steps:
        found = ran(step.command, tmp_path, served)

        assert step.matches(found.stdout), f"$ {step.command}\n{found.stdout}"
        assert found.returncode == step.code, f"$ {step.command}\n{found.stdout}"
