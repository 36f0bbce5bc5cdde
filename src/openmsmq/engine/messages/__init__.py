"""Messages of programs: sent, received, delayed, expired, deduplicated, dead letters."""
