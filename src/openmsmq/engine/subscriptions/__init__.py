"""Durable subscriptions: named readers, their owners, and the messages reserved for them."""
