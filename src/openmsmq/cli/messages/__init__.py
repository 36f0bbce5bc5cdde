"""`openmsmq message`: its commands."""
