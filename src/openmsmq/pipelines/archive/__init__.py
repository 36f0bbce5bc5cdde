"""`[archive]`: the messages of queues as Parquet files, each exactly once."""
