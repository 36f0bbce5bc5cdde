"""Who may do what, and the keys and certificates that prove who somebody is."""
