"""Commands that ask a server: one module for each noun of the API."""
