"""Versions of the model language. A file of every earlier version can be loaded."""

from collections.abc import Mapping
from typing import Final

from headgate.model.diagnostic_codes import DiagnosticCode

NEWEST: Final = 2
"""The newest version. A file that names none is judged by it, and means the same in every version so far."""

OLDEST: Final = 1
"""The version of stored files that name none: they may have been installed under it."""

SINCE: Final[Mapping[DiagnosticCode, int]] = {
    DiagnosticCode.UNKNOWN_ATTRIBUTE: 2,
    DiagnosticCode.UNKNOWN_RELATION: 2,
    DiagnosticCode.UNKNOWN_PARAMETER: 2,
    DiagnosticCode.KIND_WITHOUT_TYPE: 2,
}
"""The version from which on a mistake is an error; in a file of an earlier version it is a warning.

Only a mistake that the parser does not have to leave out of the model may be listed here.
"""


def severity_of(mistake: DiagnosticCode, language: int) -> str:
    """Return the severity of a mistake in a file of a language version: `error` or `warning`."""
    return "warning" if SINCE.get(mistake, OLDEST) > language else mistake.severity
