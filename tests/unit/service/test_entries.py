"""The configuration as people see it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from openmsmq.service.configuration import Config
from openmsmq.service.entries import configuration_entries


def test_what_counts_and_what_the_file_would_change() -> None:
    running = Config(data=Path("/data"), name="shop01", srmp_proxy="http://anna:secret@proxy:3128")
    filed = replace(running, binary_port=1802, log_level="debug")
    found = {one.place: one for one in configuration_entries(running, filed)}
    port = found["binary.port"]
    assert (port.running, port.file, port.is_default) == ("1801", "1802", True)
    assert (port.needs_restart, port.reloads) == (True, False)
    level = found["log.level"]
    assert (level.needs_restart, level.reloads) == (False, True)
    name = found["manager.name"]
    assert (name.running, name.is_default, name.needs_restart) == ('"shop01"', False, False)
    assert found["srmp.proxy"].running == '"http://****@proxy:3128"'
    assert all(one.help for one in found.values())
