"""`[archive]`: queues as Parquet files, every message once."""
