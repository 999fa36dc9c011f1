"""Commands of the operator: they work on the data folder of this machine."""
