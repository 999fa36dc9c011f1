"""Names and texts as SQL writes them, whatever letters they have, so that none of them ends early (SQL injection)."""


def quote_table(table: str) -> str:
    """Return the full name of a table as SQL writes it."""
    return ".".join(map(quote_name, table.split(".")))


def quote_name(name: str) -> str:
    """Return one part of a name as SQL writes it, whatever letters it has."""
    return f"`{name.replace('`', '``')}`"


def quote_text(text: str) -> str:
    """Return a text as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
