"""SQL over the API: statements and pages of their rows."""
