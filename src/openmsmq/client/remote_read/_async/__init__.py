"""The client of remote read for asyncio."""
