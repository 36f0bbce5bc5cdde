"""Public values: what programs send, receive and see."""
