"""The public API: managers, queues, cursors, streams and transactions, for threads and for
asyncio, over a socket or an embedded manager.
"""
