"""The client of a supporting server: it has no queue manager of its own ([MS-MQMP] 3.2)."""
