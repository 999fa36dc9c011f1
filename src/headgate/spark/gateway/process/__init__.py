"""The gateway's process: its configuration, sandbox, certificates and supervisor."""
