"""Identities over the API: users, groups, teams, service principals and tokens."""
