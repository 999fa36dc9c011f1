"""Commands: what somebody asks for, decided on the newest snapshot, then changes or a refusal."""
