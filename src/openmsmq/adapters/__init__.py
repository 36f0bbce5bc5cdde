"""Queues in the frameworks of others; each module needs an extra of its own."""
