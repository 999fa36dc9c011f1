"""Commands: what a caller asks for, decided on the newest snapshot, then changes or a refusal."""
