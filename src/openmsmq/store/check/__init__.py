"""Checking a store: pages, tables, and whether they agree."""
