"""The catalog: tables, their properties and their services."""
