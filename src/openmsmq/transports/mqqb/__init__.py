"""The binary protocol ([MS-MQQB]): session state machine, acknowledgements, resending, listener."""
