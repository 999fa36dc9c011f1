"""One migration per released schema."""
