"""The headers of a packet, one in each module."""
