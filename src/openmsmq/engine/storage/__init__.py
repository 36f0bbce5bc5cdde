"""What the engine keeps in its store: tables, row layouts, recovery, history and settings."""
