"""Table metadata and files in the warehouse: what a table consists of, and that all its files are inside its location."""
