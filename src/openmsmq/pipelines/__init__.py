"""Pipelines on Spark: from queues to files and queues, as a TOML file says.

`openmsmq.pipelines.run("lake.toml")` does what `openmsmq pipeline run lake.toml` does.
"""

from __future__ import annotations

from openmsmq.pipelines.run import run

__all__ = ["run"]
