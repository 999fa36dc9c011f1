"""Why the lake refuses a request, whoever asks.

LakeError
├── RuleError        a rule that no right lifts
├── InvalidError     the request does not make sense
├── ConflictError    somebody else was faster
└── MissingError     the table is not there
"""


class LakeError(Exception):
    """The lake refuses; nothing was changed."""


class RuleError(LakeError):
    """The request breaks a rule of the lake, for example a file outside the table's location."""


class InvalidError(LakeError):
    """The request or a file it names cannot be understood or applied."""


class ConflictError(LakeError):
    """The table is not in the state that the commit was made on."""


class MissingError(LakeError):
    """There is no such table."""
