"""Settings: what the operator sets in the environment and in files, read, checked and documented."""
