"""Queues: registry, resolution of names, access, purge, subqueues, quotas and system queues."""
