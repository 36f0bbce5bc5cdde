"""LDAP version 3, as far as a directory is read and written with it (RFC 4511)."""
