"""Messages over routers, each manager in a process of its own."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from openmsmq import Message
from tests.e2e.managers import ManagerProcess, free_port, is_everything_sent, running, texts, until

pytestmark = pytest.mark.slow

COUNT = 200


def topology(*managers: ManagerProcess) -> str:
    """A site for each manager, linked in a row."""
    names = [manager.name for manager in managers]
    lines = [f'[[sites]]\nname = "site-{name}"' for name in names]
    for one, other in pairwise(names):
        lines.append(
            f'[[links]]\nsite1 = "site-{one}"\nsite2 = "site-{other}"\ngates = ["{one}", "{other}"]'
        )
    for manager in managers:
        host, port = manager.place
        lines.append(
            f'[[managers]]\nname = "{manager.name}"\nid = "{manager.id}"\nrouter = true\n'
            f'sites = ["site-{manager.name}"]\naddress = "{host}:{port}"'
        )
    return "\n".join(lines)


@pytest.mark.parametrize("kind", ["recoverable", "transactional"])
def test_a_router_is_killed_and_everything_arrives_once_and_in_order(
    tmp_path: Path, kind: str
) -> None:
    """MQBR-126, MQBR-141."""
    is_transactional = kind == "transactional"
    shop, hub, hq = (
        ManagerProcess(tmp_path, name, port=free_port()) for name in ("shop", "hub", "hq")
    )
    with running(shop, hub, hq):
        text = topology(shop, hub, hq)
        for process in (shop, hub, hq):
            with process.connect() as manager:
                manager.configure(topology=text)
        with shop.connect() as sender, hq.connect() as receiver:
            receiver.create_queue("orders", transactional=is_transactional)
            (info,) = [item for item in receiver.queues() if "orders" in item.name]
            target = sender.open_queue(info.format_name)
            for at in range(COUNT):
                message = Message(str(at), recoverable=True)
                if is_transactional:
                    with sender.transaction() as transaction:
                        target.send(message, transaction=transaction)
                else:
                    target.send(message)
                if at == COUNT // 2:
                    hub.kill()
                    hub.start()
            until(lambda: len(texts(receiver, "orders")) == COUNT, "they did not all arrive")
            assert texts(receiver, "orders") == [str(at) for at in range(COUNT)]
            if is_transactional:
                until(lambda: is_everything_sent(sender), "they were not all acknowledged")
