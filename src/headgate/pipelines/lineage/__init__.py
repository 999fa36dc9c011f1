"""Lineage: which columns were derived from which; it is recorded, shown as a graph, and sent to a receiver."""
