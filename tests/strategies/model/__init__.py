"""A queue manager as [MS-MQDMPR] describes it, slow and obvious: plain lists with states."""
