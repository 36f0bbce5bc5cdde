"""The application protocol between programs and a service: frames, payloads and calls, shared by
client and server (docs/app-protocol.md).
"""
