"""Checks the store: whether it can be read, its schema, the last entries of its logs, the clock, the models and the runs."""

from collections.abc import Iterator, Mapping, Sequence

from headgate.app.doctor.finding import Finding, build_failure, warning
from headgate.app.settings.settings import Settings
from headgate.control.kernel.ports import StoreError
from headgate.control.models.shipped_models import shipped_models
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.store.inspect import LAST, LogTail, StoreStatus, inspect_store

_AHEAD = 60.0
"""Seconds that the newest entry may be ahead of this machine's clock."""

_PATIENCE = 3600.0
"""Seconds that a run may wait, or be without a live worker, before it is reported."""


def store(settings: Settings, _environ: Mapping[str, str], now: float) -> Iterator[Finding]:
    """Check the store without changing it."""
    try:
        seen = inspect_store(settings.store_url or settings.folder, settings.seal_key)
    except StoreError as error:
        fault, _, do = str(error).partition("; ")
        yield build_failure(
            "store", fault, do or "check that the store exists and this user may read it, or restore a backup"
        )
        return
    yield _schema(seen)
    if seen.tails:
        yield Finding("logs", "ok", f"the hash chain of the last {LAST} entries of {len(seen.tails)} logs is intact")
        yield _seals(seen)
        yield _clock(seen, now)
        yield from _models(seen.tails)
        yield _runs(seen, now)


def _schema(seen: StoreStatus) -> Finding:
    if seen.schema is None:
        return Finding("store", "ok", "there is no store yet; `headgate serve` creates it")
    if seen.schema == seen.newest:
        return Finding("store", "ok", f"the store is readable, and its schema version {seen.schema} is the newest")
    do = "make a backup, then start `headgate serve`: it migrates an older schema, and refuses one that it cannot migrate"
    return warning("store", f"the store has schema {seen.schema}, and this version of Headgate needs {seen.newest}", do)


def _seals(seen: StoreStatus) -> Finding:
    if seen.unproved is not None:
        fault, _, do = seen.unproved.partition("; ")
        return build_failure(
            "seals", fault, f"{do}; `headgate log verify` verifies every log" if do else "run `headgate log verify`"
        )
    return Finding(
        "seals",
        "ok",
        f"the {seen.sealed} seals of the logs are made with known keys, and no log ends before its newest seal",
    )


def _runs(seen: StoreStatus, now: float) -> Finding:
    do = "start `headgate serve`, or a `headgate worker` where the store is PostgreSQL"
    if seen.lease is not None and seen.lease < now - _PATIENCE:
        return warning("runs", "some runs of pipelines have lost their worker; the next worker continues them", do)
    if seen.due is not None and seen.due < now - _PATIENCE:
        said = (
            f"a run has been waiting for {now - seen.due:,.0f} s; `headgate run list --state queued` shows the reason"
        )
        return warning("runs", said, do)
    return Finding("runs", "ok", "no run has been waiting for long or has lost its worker")


def _clock(seen: StoreStatus, now: float) -> Finding:
    ahead = max(tail.at for tail in seen.tails) - now
    if ahead > _AHEAD:
        return build_failure(
            "clock",
            f"the newest entry of the logs is {ahead:.0f} s ahead of this machine's clock",
            "correct the clock of this machine",
        )
    return Finding("clock", "ok", "this machine's clock is not behind the newest entry of the logs")


def _models(tails: Sequence[LogTail]) -> Iterator[Finding]:
    shipped = {each.model.name: each.model.hash for each in shipped_models()}
    # The deployment's own log keeps the version of its creation.
    older = [
        tail for tail in tails if tail.log != DEPLOYMENT and shipped.get(tail.model, tail.model_hash) != tail.model_hash
    ]
    for tail in older:
        yield warning(
            "models",
            f"`{tail.log}` uses another version of the access model `{tail.model}` than the one that comes with this Headgate",
            f"`headgate model upgrade {tail.log} --dry-run` shows the decisions that would change",
        )
    if not older:
        yield Finding(
            "models",
            "ok",
            "the access models of every organization are those of this version of Headgate; none has to be updated",
        )
