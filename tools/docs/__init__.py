"""Generated pages of the documentation, which cannot differ from the program."""
