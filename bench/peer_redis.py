"""Redis Streams; a write is on disk before it is answered, or (`everysec`) a second later."""

from __future__ import annotations

import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

from bench import race, servers

STREAM, GROUP = "bench", "group"


class Redis:
    """A Redis server."""

    module = "bench.peer_redis"
    count = 120_000

    def __init__(self, often: str = "always") -> None:
        self.title = f"Redis Streams, fsync {often}"
        self._often = often

    def is_installed(self) -> bool:
        """Whether it can be started here."""
        return servers.is_installed("redis-server", "redis")

    def start(self, folder: Path) -> str:
        """Start it; its port."""
        port = servers.free_port()
        durable = ("--appendonly", "yes", "--appendfsync", self._often, "--save", "")
        place = ("--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder))
        self.process = subprocess.Popen(
            ("redis-server", *place, *durable), stdout=subprocess.DEVNULL
        )
        servers.wait_for_port(port, self.process)
        _connect(str(port)).xgroup_create(STREAM, GROUP, "0", mkstream=True)
        return str(port)

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


def _connect(port: str) -> Any:
    return import_module("redis").Redis("127.0.0.1", int(port))


def send(port: str, count: int) -> None:
    """Add to the stream, many commands at a time."""
    client = _connect(port)
    fields = {"body": race.BODY}
    race.wait_for_start()
    for _ in range(count // race.BATCH):
        pipeline = client.pipeline(transaction=False)
        for _ in range(race.BATCH):
            pipeline.xadd(STREAM, fields)
        pipeline.execute()


def receive(port: str, count: int) -> None:
    """Read as a member of a group; acknowledge and remove all that came at once."""
    client = _connect(port)
    race.wait_for_start()
    left = count
    while left:
        for _, found in client.xreadgroup(GROUP, "me", {STREAM: ">"}, count=1000, block=2000):
            ids = [identifier for identifier, _ in found]
            pipeline = client.pipeline(transaction=False)
            pipeline.xack(STREAM, GROUP, *ids)
            pipeline.xdel(STREAM, *ids)
            pipeline.execute()
            left -= len(ids)


if __name__ == "__main__":
    race.take_part({"send": send, "receive": receive})
