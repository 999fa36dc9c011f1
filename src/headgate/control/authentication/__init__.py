"""Authentication: passwords, sessions, invitations, access tokens and users of identity providers."""
