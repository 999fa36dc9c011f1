"""Commands for a facts file: its export from a data folder, and questions about it."""
