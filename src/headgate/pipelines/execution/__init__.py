"""Execution: workers claim runs and execute their attempts on Spark."""
