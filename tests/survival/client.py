"""A client of one replica: the writes and questions of the tests, over real HTTP."""

from dataclasses import dataclass
from typing import Any

import httpx

from tests.survival.replicas import WITHIN, Pair

ROLE, ACTION = "viewer", "database.describe"


@dataclass(frozen=True)
class Client:
    """A principal's client at one replica. Safe to use from several threads."""

    http: httpx.Client
    address: str
    token: str

    def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> httpx.Response:
        """Send a request as this client's principal."""
        known = {"authorization": f"Bearer {self.token}", **(headers or {})}
        return self.http.request(method, f"{self.address}{path}", json=body, headers=known)

    def give(self, pair: Pair, key: str | None = None) -> httpx.Response:
        """Assign the role on the pair's database to the pair's user."""
        body = {"subject": pair.user, "role": ROLE, "resource": pair.resource_name}
        return self.send("POST", "/api/v1/assignments", body, {"idempotency-key": key} if key else {})

    def take(self, pair: Pair) -> httpx.Response:
        """Revoke the role on the pair's database from the pair's user."""
        query = f"subject={pair.user}&role={ROLE}&resource={pair.resource_name}"
        return self.send("DELETE", f"/api/v1/assignments?{query}")

    def may(self, pair: Pair) -> bool:
        """Ask, as the pair's user, whether the user may describe its database."""
        answer = Client(self.http, self.address, pair.token).ask(pair)
        assert answer.status_code == 200, answer.text
        return answer.json()["decision"] is True

    def ask(self, pair: Pair) -> httpx.Response:
        """Request an AuthZEN evaluation for the pair."""
        body = {
            "subject": {"type": "user", "id": pair.principal},
            "action": {"name": ACTION},
            "resource": {"type": "database", "id": pair.resource},
        }
        return self.send("POST", "/access/v1/evaluation", body)


def http() -> httpx.Client:
    """Return an HTTP client for many threads."""
    # The server closes a connection that was idle for 5 seconds; a client that sends at that moment gets a reset.
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64, keepalive_expiry=2.0)
    return httpx.Client(trust_env=False, timeout=WITHIN, limits=limits)
