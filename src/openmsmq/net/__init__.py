"""Sockets: all that the queue manager and its clients open."""
