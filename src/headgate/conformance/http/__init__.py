"""Cases over HTTP: asked of a server that is started for them."""
