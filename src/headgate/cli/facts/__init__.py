"""Commands for facts files: their export from a data folder, and decisions on them without a server."""
