"""Quoting of names and texts for SQL, with all their characters, so that none ends its quotes early (SQL injection)."""


def quote_table(table: str) -> str:
    """Return the full name of a table, quoted for SQL."""
    return ".".join(map(quote_name, table.split(".")))


def quote_name(name: str) -> str:
    """Return one part of a name, quoted for SQL, with any characters."""
    return f"`{name.replace('`', '``')}`"


def quote_text(text: str) -> str:
    """Return a text as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
