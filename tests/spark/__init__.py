"""Queues as sources and sinks of a Spark session, which all these tests share."""
