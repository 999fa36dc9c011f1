"""The facts of one organization: typed changes, the fold over them, and the resulting snapshot."""
