"""Transactions: in one phase or two, of one manager or distributed over several."""
