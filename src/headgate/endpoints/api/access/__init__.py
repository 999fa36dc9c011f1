"""Access over the API: assignments, roles, requests, questions."""
