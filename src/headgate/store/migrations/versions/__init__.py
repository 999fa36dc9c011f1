"""One step for each schema that there ever was."""
