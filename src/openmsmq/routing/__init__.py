"""Routing between sites: which manager gets a message next ([MS-MQBR]); pure, over a topology."""
