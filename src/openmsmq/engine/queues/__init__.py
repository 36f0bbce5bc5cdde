"""Queues: found, created, deleted, opened, purged, with their subqueues."""
