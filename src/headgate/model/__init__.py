"""The access-model language: which roles exist, what they give, how they spread, who may assign them."""
