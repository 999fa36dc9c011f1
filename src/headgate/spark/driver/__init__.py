"""The driver: its process, configuration, ports, sandbox and the proof that it is guarded."""
