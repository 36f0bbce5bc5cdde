"""The server half of the application protocol: a session for each program, its handles, streams
and calls.
"""
