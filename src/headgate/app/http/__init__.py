"""HTTP: the application of all endpoints, the middlewares around it, and the server that listens."""
