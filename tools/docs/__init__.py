"""Pages of the documents that are generated from the program, so that they cannot differ from it."""
