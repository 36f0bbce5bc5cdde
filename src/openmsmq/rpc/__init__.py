"""Connection-oriented DCE/RPC version 5 ([MS-RPCE]): PDUs, NDR, authentication, both machines."""
