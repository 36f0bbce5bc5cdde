"""The queue manager: the rules, a store and a clock, driven by threads or by an event loop."""
