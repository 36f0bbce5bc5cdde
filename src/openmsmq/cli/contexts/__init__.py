"""Names for queue managers that commands connect to: `openmsmq context`."""
