"""A queue manager that runs as a service: configuration, listeners, maintenance."""
