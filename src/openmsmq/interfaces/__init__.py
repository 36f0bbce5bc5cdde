"""Interfaces that are called over DCE/RPC, and the endpoint mapper to find them."""
