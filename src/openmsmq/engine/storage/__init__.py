"""What the engine keeps in its store: tables, rows, recovery, history, settings."""
