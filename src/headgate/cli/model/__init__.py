"""Commands for model files: check, format, compare, describe."""
