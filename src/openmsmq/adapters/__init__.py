"""Adapters for other frameworks; each module needs an extra of its own."""
