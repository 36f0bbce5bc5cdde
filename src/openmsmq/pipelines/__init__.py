"""Ready-made work on queues that runs on Spark."""
