"""The deployment: its first organization, its operators, imports, erasure of persons and break-glass."""
