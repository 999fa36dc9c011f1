"""Resources: created, changed, moved and deleted, with their documents and versions."""
