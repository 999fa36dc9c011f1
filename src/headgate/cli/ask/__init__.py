"""Questions to the decision: about a file of facts, or about the data folder of this machine."""
