"""The kernel: commands on one log, decided on its newest snapshot and written; it knows no kind of command."""
