"""A server without Spark refuses statements permanently, with the reason."""

from dataclasses import replace
from pathlib import Path

import httpx

from headgate.app.background import run_in_background
from headgate.app.settings.settings import default_settings


def test_a_server_without_spark_refuses_statements_permanently(tmp_path: Path) -> None:
    settings = replace(default_settings({}, folder=tmp_path / "data", api_port=0), spark=False)

    with run_in_background(settings, lambda _: None) as server:
        headers = {"authorization": f"Bearer {settings.owner_token.read_text(encoding='utf-8').strip()}"}
        answer = httpx.post(
            f"{server.url}/api/v1/sql", json={"statement": "SELECT 1"}, headers=headers, trust_env=False
        )

    assert (answer.status_code, answer.headers.get("retry-after")) == (404, None)
    assert "this server runs without Spark (`HEADGATE_SPARK=0`)" in answer.json()["detail"]
