"""OpenID Connect: people whom their company's provider knows (authorization code with PKCE)."""
