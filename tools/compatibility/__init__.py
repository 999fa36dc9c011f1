"""Compares Spark behind Headgate with plain Spark: Spark's own tests, the examples of PySpark's documentation and our own cases."""
