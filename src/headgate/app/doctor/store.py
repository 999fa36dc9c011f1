"""The store: whether it can be read, its schema, the ends of its logs, its clock, its models and its runs."""

from collections.abc import Iterator, Mapping, Sequence

from headgate.app.deployment import shipped_model
from headgate.app.doctor.finding import Finding, build_failure, warning
from headgate.app.settings.settings import Settings
from headgate.control.kernel.ports import StoreError
from headgate.model.vocabulary import MODELS
from headgate.store.inspect import LAST, LogTail, StoreStatus, inspect_store

_AHEAD = 60.0
"""Seconds that the newest entry may lie in the future."""

_PATIENCE = 3600.0
"""Seconds that a run may wait, or be without its worker."""


def store(settings: Settings, _environ: Mapping[str, str], now: float) -> Iterator[Finding]:
    """Look at the store without changing it."""
    try:
        seen = inspect_store(settings.store_url or settings.folder, settings.seal_key)
    except StoreError as error:
        yield build_failure("store", str(error), "check that it is there and may be read, or restore a backup")
        return
    yield _schema(seen)
    if seen.tails:
        yield Finding("logs", "ok", f"the last {LAST} entries of {len(seen.tails)} logs follow from each other")
        yield _seals(seen)
        yield _clock(seen, now)
        yield from _models(seen.tails)
        yield _runs(seen, now)


def _schema(seen: StoreStatus) -> Finding:
    if seen.schema is None:
        return Finding("store", "ok", "is empty yet; `headgate serve` makes it")
    if seen.schema == seen.newest:
        return Finding("store", "ok", f"can be read, schema {seen.schema}")
    do = "make a backup, then start `headgate serve`: it brings an older one up to date, and says so of one that it cannot"
    return warning("store", f"has schema {seen.schema}, and this Headgate's is {seen.newest}", do)


def _seals(seen: StoreStatus) -> Finding:
    if seen.unproved is not None:
        fault, _, do = seen.unproved.partition("; ")
        return build_failure(
            "seals", fault, f"{do}; `headgate log verify` proves every log" if do else "headgate log verify"
        )
    return Finding("seals", "ok", f"{seen.sealed} were made by known keys, and no log is behind its newest one")


def _runs(seen: StoreStatus, now: float) -> Finding:
    do = "start `headgate serve`, or a `headgate worker` where the store is PostgreSQL"
    if seen.lease is not None and seen.lease < now - _PATIENCE:
        return warning("runs", "some are under way whose worker is gone; the next worker takes them over", do)
    if seen.due is not None and seen.due < now - _PATIENCE:
        said = f"one has been waiting for {now - seen.due:,.0f} s; `headgate run list --state queued` says for what"
        return warning("runs", said, do)
    return Finding("runs", "ok", "none has been waiting for long, and none is lost")


def _clock(seen: StoreStatus, now: float) -> Finding:
    ahead = max(tail.at for tail in seen.tails) - now
    if ahead > _AHEAD:
        return build_failure(
            "clock", f"the newest entry is {ahead:.0f} s ahead of this machine's clock", "set the clock right"
        )
    return Finding("clock", "ok", "is not behind the newest entry")


def _models(tails: Sequence[LogTail]) -> Iterator[Finding]:
    shipped = {name: shipped_model(name).hash for name in MODELS}
    older = [tail for tail in tails if tail.model in shipped and shipped[tail.model] != tail.model_hash]
    for tail in older:
        yield warning(
            "models",
            f"`{tail.log}` began under another version of the model `{tail.model}`, and keeps to it",
            f"headgate model diff shows what the shipped `{tail.model}` would decide otherwise",
        )
    if not older:
        yield Finding("models", "ok", "every log is governed by the versions of this Headgate")
