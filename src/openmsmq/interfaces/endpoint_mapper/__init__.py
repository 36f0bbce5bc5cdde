"""The endpoint mapper: where the interfaces of this computer are (C706 appendix O)."""
