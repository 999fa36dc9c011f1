"""The engine: the decision compiled to masks and indexes, for answers in microseconds."""
