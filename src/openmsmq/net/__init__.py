"""Sockets of an event loop, for clients and servers alike."""
