"""The decision: what a caller may do on a resource, and why; a pure function of model, snapshot and time."""
