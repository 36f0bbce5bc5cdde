"""The binary protocol ([MS-MQQB]): its session machine, and the server around it."""
