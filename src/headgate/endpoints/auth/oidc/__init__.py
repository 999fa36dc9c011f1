"""OpenID Connect: login with the provider of a company (authorization code flow with PKCE)."""
