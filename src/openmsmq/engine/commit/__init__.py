"""Commits that many operations share: the batch, its operations, their answers."""
