"""The error of an OpenID Connect provider."""


class ProviderError(Exception):
    """The provider cannot be reached, or violates the specification; the message is for the operator."""
