"""The web console and its REST API, over the public client: queues and messages in a browser."""
