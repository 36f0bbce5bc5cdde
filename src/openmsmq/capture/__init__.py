"""Captures of MSMQ traffic: readers of pcap and pcapng files, the packets in them, and the
recorder of sessions.
"""
