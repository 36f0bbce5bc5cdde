"""Decoders of message bodies and extensions: .NET, COM, WCF, NServiceBus, Rebus, XML, JSON and
text as plain values.
"""
