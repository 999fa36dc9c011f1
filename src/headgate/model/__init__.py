"""The access-model language: which roles exist, what they grant, how they spread, and which roles may assign them."""
