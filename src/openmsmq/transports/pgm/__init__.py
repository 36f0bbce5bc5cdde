"""Multicast: messages by SRMP over PGM ([MC-MQSRM] 2.1.3, RFC 3208)."""
