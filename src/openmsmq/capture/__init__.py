"""Captures of MSMQ traffic: pcap and pcapng files, the packets in them, and the recorder."""
