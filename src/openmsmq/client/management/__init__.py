"""The client of qmmgmt: looks after a manager elsewhere, over RPC ([MS-MQMR] 3.2)."""
