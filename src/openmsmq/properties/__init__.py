"""Properties of messages, queues and managers: identifiers, variant types and permitted values."""
