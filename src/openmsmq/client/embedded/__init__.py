"""The client of a queue manager in the same process: the only part that imports the engine."""
