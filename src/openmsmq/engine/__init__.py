"""The rules of a queue manager ([MS-MQDMPR]): pure, over a store; it knows no transport."""
