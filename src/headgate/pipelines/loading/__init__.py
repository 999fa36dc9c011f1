"""Loading of streams, for sources and integrations: from files, databases and HTTP APIs into tables."""
