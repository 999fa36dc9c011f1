"""What can go wrong with untrusted input, in sentences that a client may read."""


class UntrustedInputError(Exception):
    """A document was not rewritten; the message says what is wrong and what to do."""


class UnreadableInputError(UntrustedInputError):
    """The document is malformed, or holds something that does not pass."""


class OversizedInputError(UntrustedInputError):
    """The document needs more memory or time than one document may use."""


class ParsersBusyError(UntrustedInputError):
    """Too many documents wait for a parser."""
