"""The client of management over remote calls, for threads."""
