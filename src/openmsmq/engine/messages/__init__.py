"""The life of a message in a queue: send, receive, delay, expiry, deduplication, poison handling,
dead letters.
"""
