"""Errors of untrusted input; their messages may be shown to clients."""


class UntrustedInputError(Exception):
    """A document was not rewritten; the message says what is wrong and what to do."""


class UnreadableInputError(UntrustedInputError):
    """The document is malformed, or contains something that is not allowed."""


class OversizedInputError(UntrustedInputError):
    """The document needs more memory or time than one document may use."""


class ParsersBusyError(UntrustedInputError):
    """Too many documents wait for a parser."""
