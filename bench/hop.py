"""What a router costs: from one manager to another directly, and over one that passes messages on.

`python -m bench.hop [MESSAGES]`, 50,000 unless told otherwise, 1 KiB bodies. Both ways have the
same ends, and are measured one after the other, as in `bench.transfer`: messages wait in a queue
that is paused, and the processor time of all managers counts until they have forgotten them. A hop
adds at most 1.5 times of what the direct transfer takes.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import openmsmq
from bench.servers import free_port
from bench.transfer import KINDS, Manager, fill, processor

BAR = 1.5
"What a hop may add, of a direct transfer."
NAMES = ("a", "router", "b")
TOPOLOGY = """
sites = [{{name = "near"}}, {{name = "middle"}}, {{name = "far"}}]
links = [
    {{site1 = "near", site2 = "middle", gates = ["a", "router"]}},
    {{site1 = "middle", site2 = "far", gates = ["router", "b"]}},
]
managers = [
    {{name = "a", id = "{0}", sites = ["near"], router = true, address = "127.0.0.1:{3}"}},
    {{name = "router", id = "{1}", sites = ["middle"], router = true, address = "127.0.0.1:{4}"}},
    {{name = "b", id = "{2}", sites = ["far"], router = true, address = "127.0.0.1:{5}"}},
]
"""


def measure(managers: list[Manager], name: str, kind: str, count: int) -> list[float]:
    """Microseconds of processor time for each message, of all managers."""
    sender, _, receiver = managers
    with openmsmq.connect(sender.address) as here, openmsmq.connect(receiver.address) as there:
        queue = here.open_queue(name)
        queue.pause()
        fill(here, queue, kind, count)
        arrived = there.open_queue(kind)
        before = [processor(one.pid) for one in managers]
        queue.resume()
        while arrived.info().messages < count:
            time.sleep(0.2)
        for one in managers:
            with openmsmq.connect(one.address) as manager:
                while any(info.messages + info.unacknowledged for info in manager.outgoing()):
                    time.sleep(0.2)
        after = [processor(one.pid) for one in managers]
        arrived.purge()
    return [(end - begin) / count * 1e6 for begin, end in zip(before, after, strict=True)]


def main(count: int = 50_000) -> None:
    """Measure all three kinds."""
    print(f"load average {os.getloadavg()[0]:.1f}")
    print(f"{'over a router, 1 KiB':<24}{'direct: a, b':>18}{'a, router, b':>24}{'the hop':>16}")
    folder = Path(tempfile.mkdtemp())
    ports = [free_port() for _ in NAMES]
    managers = [Manager(folder, name, port, {}) for name, port in zip(NAMES, ports, strict=True)]
    try:
        ids = []
        for one in managers:
            one.start()
            with openmsmq.connect(one.address) as manager:
                ids.append(manager.id)
        for one in managers:
            with openmsmq.connect(one.address) as manager:
                manager.configure(topology=TOPOLOGY.format(*ids, *ports))
        with openmsmq.connect(managers[-1].address) as manager:
            for kind in KINDS:
                manager.create_queue(kind, transactional=kind == "transactional")
            names = {
                kind: info.format_name
                for info in manager.queues()
                for kind in KINDS
                if info.name.endswith(kind)
            }
        for kind in KINDS:
            direct = rf"DIRECT=OS:b\private$\{kind}"
            near = measure(managers, direct, kind, count)
            far = measure(managers, names[kind], kind, count)
            added = sum(far) / sum(near) - 1
            word = "" if added <= BAR else f"  above {BAR}"
            print(
                f"  {kind:<22}{near[0]:>10.1f}{near[2]:>8.1f}"
                f"{far[0]:>10.1f}{far[1]:>7.1f}{far[2]:>7.1f} us{added:>13.2f}x{word}",
                flush=True,
            )
    finally:
        for one in managers:
            one.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
