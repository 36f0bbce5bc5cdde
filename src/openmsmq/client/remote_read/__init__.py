"""The client of remote read: queues of a manager elsewhere, over RPC ([MS-MQRR] 3.2)."""
