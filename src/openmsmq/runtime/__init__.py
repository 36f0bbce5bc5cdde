"""What runs the pure engine: threads, the event loop, the commit thread, listeners and logs."""
