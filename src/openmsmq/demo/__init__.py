"""The demonstration: what `openmsmq demo` shows, step by step."""
