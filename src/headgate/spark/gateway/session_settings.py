"""Settings of a session over Spark Connect: what a builder cannot set becomes a warning, as in Spark."""

from collections.abc import Sequence
from typing import Any, Final

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy import config_keys, text_lengths
from headgate.spark.gateway.protos import base

_LONGEST_SHOWN: Final = 200
"""Characters of a key in a warning; no settable key is longer."""
_MOST_OWN_KEYS: Final = 100
"""The most keys of one's own in a session: the driver keeps them as long as the session."""


def drop_refused_settings(request: Any) -> tuple[str, ...]:
    """Remove from a silent request what users may not set; return a warning for each.

    `SparkSession.builder.config(...)` sends silent requests. Spark sets what it can and warns of the rest, and scripts for other
    installations rely on it. Any other request is left as it is.
    """
    wanted = request.operation.set
    if not wanted.silent or len(wanted.pairs) > text_lengths.MAX_SETTINGS:
        return ()  # the check of the request refuses too many
    judged = [(pair, _describe_refused_pair(pair)) for pair in wanted.pairs]
    kept = [pair for pair, why in judged if why is None]
    del wanted.pairs[:]
    wanted.pairs.extend(kept)
    return tuple(why for _, why in judged if why is not None)


def _describe_refused_pair(pair: Any) -> str | None:
    key = pair.key if len(pair.key) <= _LONGEST_SHOWN else f"{pair.key[:_LONGEST_SHOWN]}..."
    return config_keys.describe_refused_setting(key, pair.value)


def count_own_settings(request: Any, known: set[str]) -> None:
    """Add the keys of one's own that a request sets to the known ones of the session, and remove those that it unsets.

    Raises `RequestRefusedError` if they are too many.
    """
    new = {pair.key for pair in request.operation.set.pairs if config_keys.is_own(pair.key)}
    if len(known | new) > _MOST_OWN_KEYS:
        raise RequestRefusedError(
            f"the session has more than {_MOST_OWN_KEYS} configuration keys of its own; begin a new session, or use fewer keys"
        )
    known |= new
    known -= set(request.operation.unset.keys)


def add_warnings(data: bytes, warnings: Sequence[str]) -> bytes:
    """Return the driver's response with the warnings."""
    if not warnings:
        return data
    response = base.ConfigResponse.FromString(data)
    response.warnings.extend(warnings)
    return response.SerializeToString()
