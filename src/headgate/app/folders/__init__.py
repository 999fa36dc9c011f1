"""Folders: those of each organization in the data folder, and the checkpoint folders of its streams."""
