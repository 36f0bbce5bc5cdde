"""The configuration as people see it: what counts now, and what the file would change."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Final

from openmsmq.service.backup import toml_text
from openmsmq.service.configuration import Config
from openmsmq.service.options import OPTIONS
from openmsmq.types.settings import ConfigurationEntry

_LOGIN: Final = re.compile(r"//[^/@\s\"]+@")
"A user and a password in an address."


def configuration_entries(running: Config, filed: Config) -> list[ConfigurationEntry]:
    """Every option as it counts, and as it would count at a start now."""
    plain = Config(data=Path())
    found = []
    for field in fields(Config):
        option = OPTIONS[field.name]
        now, then = getattr(running, field.name), getattr(filed, field.name)
        found.append(
            ConfigurationEntry(
                place=option.place,
                running=_shown(now),
                file=_shown(then),
                is_default=now == getattr(plain, field.name),
                needs_restart=now != then and not option.live,
                reloads=now != then and option.live,
                help=option.help,
            )
        )
    return found


def _shown(value: object) -> str:
    """A value as a file says it, without passwords."""
    return _LOGIN.sub("//****@", toml_text(value))
