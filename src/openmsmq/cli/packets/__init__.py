"""`openmsmq decode`: packets field by field, with the meaning of their values."""
