"""Interfaces that are called over DCE/RPC: remote read, and the endpoint mapper to find it."""
