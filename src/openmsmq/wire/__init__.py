"""Bytes: a bounds-checked reader, declared fixed layouts, and UTF-16 text."""
