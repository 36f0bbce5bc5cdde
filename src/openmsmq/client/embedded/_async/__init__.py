"""The embedded client for asyncio."""
