"""What can be wrong with a provider."""


class ProviderError(Exception):
    """The provider cannot be reached, or does not do what the specification says; the message is for the operator."""
