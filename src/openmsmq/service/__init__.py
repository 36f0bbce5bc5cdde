"""The queue manager as a service process: configuration, listeners, maintenance, health checks."""
