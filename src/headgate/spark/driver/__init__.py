"""The driver: its process, configuration, ports and sandbox, and the proof that the guard is active."""
