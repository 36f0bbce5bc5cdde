"""Transactions, in one phase or two, of one manager or of several."""
