"""`openmsmq console` and `watch`: queues in a browser, or live in the terminal."""
