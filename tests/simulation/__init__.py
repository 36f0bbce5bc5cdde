"""Managers in virtual time, on disks and wires that fail: what must hold, held against seeds."""
