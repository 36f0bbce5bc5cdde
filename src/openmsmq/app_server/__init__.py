"""The server half of the application protocol: one session for each program."""
