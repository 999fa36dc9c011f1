"""Questions: parsed, resolved by name, and answered with the reason of a refusal."""
