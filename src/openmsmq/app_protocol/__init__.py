"""The application protocol between programs and a queue manager (docs/app-protocol.md)."""
