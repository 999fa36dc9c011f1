"""Writing of lake tables, files and databases, of the versions of a history, and of the cached rows of a chart."""
