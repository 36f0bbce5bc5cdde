"""Commands about a service itself: its sessions, recordings of them, and its configuration."""
