"""The headers of packets, one in each file."""
