"""`openmsmq queue permissions`, `certificate` and `audit`: who may do what, and who did."""
