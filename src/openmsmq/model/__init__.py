"""The data model and processing rules of a queue manager ([MS-MQDMPR]): pure, over a store."""
