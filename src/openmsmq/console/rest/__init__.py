"""The REST API: queues, messages, plans and managers over HTTP, and its description in OpenAPI."""
