"""The client for asyncio; the source that `_sync` is generated from."""
