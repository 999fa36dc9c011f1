"""Folders: those of each organization in the data folder, and those of the checkpoints of its streams."""
