"""The public API: queue managers, queues, cursors and transactions, sync and async."""
