"""SQL over HTTP: statements executed for a caller, and their stored rows."""
