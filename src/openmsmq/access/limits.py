"""Bounds of files that say who may do what.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

CHANGES_MAX: Final = 200
"""Changes that a file of tokens, users, certificates or keys remembers for the audit log. At the
limit: the oldest is forgotten, and missing in the log if no manager has looked since.
"""
