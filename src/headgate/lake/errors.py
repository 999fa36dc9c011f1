"""Errors of the lake, the same for every caller.

LakeError
├── RuleError               the request breaks a rule that no privilege lifts
├── InvalidMetadataError    the request or a file is invalid
│   └── GoneError           a file of the table does not exist
├── ConflictError           another commit was faster
├── MissingMetadataError    the table does not exist
└── BusyError               the files cannot be read at the moment
"""


class LakeError(Exception):
    """The lake refuses a request; nothing was changed."""


class RuleError(LakeError):
    """The request breaks a rule of the lake, for example a file outside the table's location."""


class InvalidMetadataError(LakeError):
    """The request, or a file that it names, cannot be parsed or applied."""


class GoneError(InvalidMetadataError):
    """A file that the table names does not exist: the table cannot be used until the file is restored."""


class ConflictError(LakeError):
    """The table is not in the state that the commit is based on."""


class MissingMetadataError(LakeError):
    """The table does not exist."""


class BusyError(LakeError):
    """Too many files wait to be read, or no process to read them can be started."""
