"""How people and programs prove to the deployment who they are: passwords, sessions, invitations, access tokens."""
