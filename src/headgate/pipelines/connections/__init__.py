"""Connections: the folders, databases and HTTP APIs that runs may reach, and how they are reached."""
