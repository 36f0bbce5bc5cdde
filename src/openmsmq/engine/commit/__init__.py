"""Group commits: the batch that operations share, their outcomes, and the numbers and statistics
that a commit changes.
"""
