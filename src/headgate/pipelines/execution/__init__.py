"""Execution: workers claim runs and carry out their attempts on Spark."""
