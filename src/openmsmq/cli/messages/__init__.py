"""`openmsmq message`: send, read, move, export and import messages."""
