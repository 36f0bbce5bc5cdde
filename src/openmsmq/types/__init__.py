"""Public values: messages, settings and information about queues, peers and transactions."""
