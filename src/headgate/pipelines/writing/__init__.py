"""Writing more than rows as they come: versions of a history, files and tables outside the lake."""
