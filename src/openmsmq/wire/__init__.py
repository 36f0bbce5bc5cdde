"""Bytes: a bounds-checked cursor, declared fixed layouts, UTF-16 text."""
