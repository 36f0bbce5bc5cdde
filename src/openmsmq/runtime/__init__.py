"""Threads, event loops, sockets and logs: what runs the engine and the protocols."""
