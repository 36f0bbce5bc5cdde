"""Packets: one header per file, whole packets, stream framing, and the lazy `PacketView`."""
