"""The settings, one module for each group of them."""
