"""Sessions: callers in Spark, their running operations and the privileges that these require."""
