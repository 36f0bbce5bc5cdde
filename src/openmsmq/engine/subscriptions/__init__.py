"""Subscriptions: readers with a name, and the messages reserved for them."""
