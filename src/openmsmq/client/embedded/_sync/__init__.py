"""The embedded client for threads, generated from `_async` by `make fix`."""
