"""The client of remote read for threads."""
