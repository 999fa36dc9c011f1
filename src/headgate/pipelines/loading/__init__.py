"""What sources and integrations share: streams read from files, databases and HTTP APIs into tables."""
