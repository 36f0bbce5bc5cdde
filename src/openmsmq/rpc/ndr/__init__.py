"""NDR 2.0, the transfer syntax of arguments and results ([MS-RPCE] 2.2.4; C706 chapter 14)."""
