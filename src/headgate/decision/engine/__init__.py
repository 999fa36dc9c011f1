"""The engine: the decision compiled to bit masks and indexes, for decisions in microseconds."""
