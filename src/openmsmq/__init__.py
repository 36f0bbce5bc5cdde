"""OpenMSMQ: Microsoft Message Queuing for everyone who is not on Windows."""
