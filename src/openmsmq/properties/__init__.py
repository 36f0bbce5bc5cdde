"""Properties of messages, queues and managers: their numbers, types and permitted values."""
