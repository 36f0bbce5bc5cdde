"""Files for operators that are part of the package: `openmsmq assets DIR` copies them.

A unit for systemd, a dashboard for Grafana, alert rules for Prometheus, a health check, and JSON
schemas of the TOML files, which editors check them with.
"""

from __future__ import annotations

from typing import Final

ASSETS: Final = {
    "openmsmq.service": "a systemd unit that runs the queue manager as a user of its own",
    "grafana.json": "a Grafana dashboard for the metrics of queue managers",
    "alerts.yml": "Prometheus alert rules for the same metrics",
    "healthcheck.py": "exits with 0 while a queue manager on this computer is ready",
    "configuration.schema.json": "a JSON schema of the configuration, for editors",
    "apply.schema.json": "a JSON schema of the files of `openmsmq apply`",
    "pipeline.schema.json": "a JSON schema of the files of `openmsmq pipeline`",
    "topology.schema.json": "a JSON schema of the files of `openmsmq topology`",
}
"File names, and what each file is."
