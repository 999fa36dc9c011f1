"""Commands that call the API of a server: one module for each noun."""
