"""Transports: the protocols by which queue managers exchange messages."""
