"""Sockets in an event loop, for clients and servers alike."""
