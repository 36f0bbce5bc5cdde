"""RabbitMQ: a durable queue, persistent messages, publisher confirms, each message acknowledged."""

from __future__ import annotations

import os
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

from bench import race, servers

QUEUE = "bench"
SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"Of Debian's package; the one on the path changes to a user of its own."


class RabbitMQ:
    """A RabbitMQ server."""

    title = "RabbitMQ"
    module = "bench.peer_rabbitmq"
    count = 50_000

    def is_installed(self) -> bool:
        """Whether it can be started here."""
        return SERVER.exists() and servers.is_installed("epmd", "pika")

    def start(self, folder: Path) -> str:
        """Start it; its port."""
        port, names = servers.free_port(), servers.free_port()
        self._environment = {
            **os.environ,
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(names),
            "RABBITMQ_NODENAME": "bench@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(servers.free_port()),
            "RABBITMQ_MNESIA_BASE": str(folder),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        }
        (folder / "plugins").write_text("[].\n")
        self.process = subprocess.Popen(
            str(SERVER),
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        servers.wait_for_port(port, self.process)
        connection = _connect(str(port))
        connection.channel().queue_declare(QUEUE, durable=True)
        connection.close()
        return str(port)

    def stop(self) -> None:
        """End it, and the server of names that it has started."""
        self.process.terminate()
        self.process.wait()
        subprocess.run(
            ("epmd", "-kill"), env=self._environment, stdout=subprocess.DEVNULL, check=False
        )


def _parameters(port: str) -> Any:
    return import_module("pika").ConnectionParameters("127.0.0.1", int(port))


def _connect(port: str) -> Any:
    return import_module("pika").BlockingConnection(_parameters(port))


class _Sender:
    """Publishes with so many unconfirmed; pika does that in its own loop only."""

    def __init__(self, port: str, count: int) -> None:
        pika = import_module("pika")
        self._left = self._unconfirmed = count
        self._confirmed_up_to = 0
        self._properties = pika.BasicProperties(delivery_mode=2)
        self._connection = pika.SelectConnection(
            _parameters(port),
            on_open_callback=lambda found: found.channel(on_open_callback=self._opened),
            on_close_callback=lambda found, _: found.ioloop.stop(),
        )

    def run(self) -> None:
        """Until all are confirmed."""
        self._connection.ioloop.start()

    def _opened(self, channel: Any) -> None:
        self._channel = channel
        channel.confirm_delivery(self._confirmed, lambda _: self._ready())

    def _ready(self) -> None:
        race.wait_for_start()
        self._fill()

    def _fill(self) -> None:
        while self._left and self._unconfirmed - self._left < race.BATCH:
            self._channel.basic_publish("", QUEUE, race.BODY, self._properties)
            self._left -= 1

    def _confirmed(self, frame: Any) -> None:
        method = frame.method
        self._unconfirmed -= method.delivery_tag - self._confirmed_up_to if method.multiple else 1
        self._confirmed_up_to = max(self._confirmed_up_to, method.delivery_tag)
        if self._unconfirmed:
            self._fill()
        else:
            self._connection.close()


def send(port: str, count: int) -> None:
    """Publish, with so many unconfirmed."""
    _Sender(port, count).run()


def receive(port: str, count: int) -> None:
    """Consume, and acknowledge each."""
    channel = _connect(port).channel()
    channel.basic_qos(prefetch_count=1000)
    race.wait_for_start()
    for left, (method, _, _) in enumerate(channel.consume(QUEUE), 1 - count):
        channel.basic_ack(method.delivery_tag)
        if not left:
            break
    channel.cancel()
    channel.connection.close()


if __name__ == "__main__":
    race.take_part({"send": send, "receive": receive})
