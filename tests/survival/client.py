"""A client of one replica or another: what a test writes and asks, over real HTTP."""

from dataclasses import dataclass
from typing import Any

import httpx

from tests.survival.replicas import WITHIN, Pair

ROLE, ACTION = "viewer", "database.describe"


@dataclass(frozen=True)
class Client:
    """Somebody at a replica. Safe to use from several threads."""

    http: httpx.Client
    address: str
    token: str

    def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> httpx.Response:
        """Send a request as this client's principal."""
        known = {"authorization": f"Bearer {self.token}", **(headers or {})}
        return self.http.request(method, f"{self.address}{path}", json=body, headers=known)

    def give(self, pair: Pair, key: str | None = None) -> httpx.Response:
        """Give the pair's user its database."""
        body = {"subject": pair.user, "role": ROLE, "resource": pair.resource_name}
        return self.send("POST", "/api/v1/assignments", body, {"idempotency-key": key} if key else {})

    def take(self, pair: Pair) -> httpx.Response:
        """Take the database back from the pair's user."""
        query = f"subject={pair.user}&role={ROLE}&resource={pair.resource_name}"
        return self.send("DELETE", f"/api/v1/assignments?{query}")

    def may(self, pair: Pair) -> bool:
        """Ask, as the pair's user, whether that may describe its database."""
        answer = Client(self.http, self.address, pair.token).ask(pair)
        assert answer.status_code == 200, answer.text
        return answer.json()["decision"] is True

    def ask(self, pair: Pair) -> httpx.Response:
        """Ask an evaluation about the pair."""
        body = {
            "subject": {"type": "user", "id": pair.principal},
            "action": {"name": ACTION},
            "resource": {"type": "database", "id": pair.resource},
        }
        return self.send("POST", "/access/v1/evaluation", body)


def http() -> httpx.Client:
    """Return connections for many threads."""
    # The server closes a connection that was idle for five seconds: a client that uses it at that moment reads a reset.
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64, keepalive_expiry=2.0)
    return httpx.Client(trust_env=False, timeout=WITHIN, limits=limits)
