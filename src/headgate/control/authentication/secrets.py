"""Secrets that are shown once and stored as a hash: `<prefix>.<id>.<secret>`, with a secret of 256 random bits."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_WRITTEN = re.compile(r"(?P<prefix>[a-z]+)\.(?P<id>[A-Za-z0-9_-]+)\.(?P<secret>[A-Za-z0-9_-]+)")

SESSION, ACCESS, INVITATION, DEVICE = "hgs", "hga", "hgi", "hgd"


@dataclass(frozen=True, slots=True)
class ParsedSecret:
    """An id with its secret."""

    id: str
    secret: str

    def format(self, prefix: str) -> str:
        """Return the secret in the form in which its holder presents it."""
        return f"{prefix}.{self.id}.{self.secret}"

    @property
    def hash(self) -> str:
        """The stored hash of the secret. A plain hash is enough, because a random secret cannot be guessed."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def matches(self, document: Mapping[str, Any] | None) -> bool:
        """Return whether the document has the hash of this secret."""
        return document is not None and hmac.compare_digest(str(document.get("hash", "")), self.hash)


def generate(id: str) -> ParsedSecret:
    """Return a new secret for an id."""
    return ParsedSecret(id, secrets.token_urlsafe(32))


def parse_secret(prefix: str, text: str) -> ParsedSecret | None:
    """Return the parsed secret, or None if the text has another form or prefix."""
    found = _WRITTEN.fullmatch(text)
    return ParsedSecret(found["id"], found["secret"]) if found and found["prefix"] == prefix else None
