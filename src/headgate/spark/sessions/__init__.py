"""Spark sessions: their callers, their running operations, and the privileges that these require."""
