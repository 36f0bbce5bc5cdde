"""The client of a supporting server for threads."""
