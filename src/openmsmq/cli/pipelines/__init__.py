"""`openmsmq pipeline`: its commands."""
