"""Why the lake refuses a request, whoever asks.

LakeError
├── RuleError        a rule that no right lifts
├── InvalidError     the request does not make sense
│   └── GoneError    a file of the table is gone
├── ConflictError    somebody else was faster
├── MissingError     the table is not there
└── BusyError        the files cannot be read at the moment
"""


class LakeError(Exception):
    """The lake refuses; nothing was changed."""


class RuleError(LakeError):
    """The request breaks a rule of the lake, for example a file outside the table's location."""


class InvalidMetadataError(LakeError):
    """The request or a file it names cannot be understood or applied."""


class GoneError(InvalidMetadataError):
    """A file that the table names is gone: the table cannot be used until the file is there again."""


class ConflictError(LakeError):
    """The table is not in the state that the commit was made on."""


class MissingMetadataError(LakeError):
    """There is no such table."""


class BusyError(LakeError):
    """Too many files wait to be read, or no process can be started that reads them."""
