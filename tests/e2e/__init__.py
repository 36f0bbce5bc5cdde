"""Real processes and real disks: what unit tests cannot show."""
