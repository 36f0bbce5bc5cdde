"""The command line: one module for each command, over the public API."""
