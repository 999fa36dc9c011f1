"""A call under way."""

from dataclasses import dataclass

from headgate.facts.caller import Caller
from headgate.spark.authority import Credential
from headgate.spark.gateway.backend import Backend


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Who calls, with what, and the connection that serves it."""

    credential: Credential
    caller: Caller
    backend: Backend
