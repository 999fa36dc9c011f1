"""Checks the sandbox of Spark's processes: how much of it this machine enforces."""

from collections.abc import Iterator, Mapping

from headgate.app.doctor.finding import Finding, build_failure, warning
from headgate.app.settings.settings import Settings
from headgate.app.spark.sandboxes import SANDBOX_SETTING, SandboxRequiredError, describe_unenforced
from headgate.sandbox.launch import find_level

_WHAT = "sandbox"


def sandbox(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Check which parts of the sandbox the kernel enforces, if Spark is enabled."""
    if not settings.spark:
        return
    level, why = find_level()
    try:
        line = describe_unenforced(settings, level, why)
    except SandboxRequiredError as error:
        yield build_failure(_WHAT, str(error), f"use Linux 6.7 or newer, or set {SANDBOX_SETTING}=prefer")
        return
    if line:
        yield warning(_WHAT, line, "use Linux 6.7 or newer")
    else:
        yield Finding(
            _WHAT,
            "ok",
            f"{level.value}: the files, TCP ports, system calls and memory of Spark's processes are restricted",
        )
