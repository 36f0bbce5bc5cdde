"""RemoteRead: other queue managers and programs read our queues ([MS-MQRR])."""
