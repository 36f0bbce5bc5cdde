"""Packets of [MS-MQMQ]: headers, whole packets, stream framing, the lazy `PacketView` and the
`PacketBuilder`.
"""
