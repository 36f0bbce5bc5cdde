"""Consistency checks of a store: pages, tables, and references between them."""
