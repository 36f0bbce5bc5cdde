"""`openmsmq decode`: packets and their values in words."""
