"""Messages over HTTP: printed requests by curl, behind nginx, beside a thousand slow clients."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.generate_docs import ROOT

from tests.docs.console import blocks
from tests.e2e.managers import PATIENCE, ManagerProcess, free_port, running, until
from tests.soap import Example, examples

pytestmark = pytest.mark.slow
SLOW = 1000
GROWTH_MAX = 150 << 20
"Bytes; the requests announce 2 GB."
LARGE = 4 << 20
NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server {{
        listen 127.0.0.1:{listen};
        {location}
    }}
}}
"""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ManagerProcess]]:
    """The two computers of the examples, reached under their names."""
    folder = tmp_path_factory.mktemp("machines")
    found = {
        name: ManagerProcess(
            folder, name, options=["--srmp-port", "0", "--srmp-url", f"http://{name}"]
        )
        for name in ("machine1", "machine2")
    }
    with running(*found.values()):
        for process in found.values():
            with process.connect() as manager:
                manager.create_queue("simpleq")
                manager.create_queue("receipts")
                manager.create_queue("tsimpleq", transactional=True)
        yield found


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(
    "example", [e for e in examples() if "4.5" not in e.name], ids=lambda e: e.name
)
def test_printed_requests_by_curl_get_the_printed_answers(
    example: Example, machines: dict[str, ManagerProcess], tmp_path: Path
) -> None:
    """SRMP-003, SRMP-014, SRMP-047: the managers know all queues; the messages expired in 2007."""
    headers = dict(example.expected["headers"])
    host, port = machines[headers["Host"]].ready["srmp"]
    path = tmp_path / "content"
    path.write_bytes(example.content)
    command = ["curl", "-s", "-i", "--data-binary", f"@{path}"]
    for name in ("Host", "Content-Type", "SOAPAction"):
        command += ["-H", f"{name}: {headers[name]}"]
    url = f"http://{host}:{port}{example.expected['request']['target']}"
    answer = subprocess.run([*command, url], capture_output=True, check=True).stdout
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nContent-Length: 0\r\n" in answer


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_messages_pass_a_reverse_proxy_as_the_page_says(tmp_path: Path) -> None:
    """SRMP-001, SRMP-241: with receipts of a stream that come back through it."""
    [shown] = blocks(ROOT / "docs" / "http.md", "nginx")
    listen, ports = free_port(), (free_port(), free_port())
    location = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{ports[0]}", shown)
    text = NGINX.format(folder=tmp_path, listen=listen, location=location)
    (tmp_path / "nginx.conf").write_text(text)
    url = f"http://127.0.0.1:{listen}"
    options = ["--srmp-port", str(ports[0]), "--srmp-url", url]
    behind = ManagerProcess(tmp_path, "behind", options=options)
    other = ManagerProcess(tmp_path, "other", options=["--srmp-port", str(ports[1])])
    command = ["nginx", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    proxy = subprocess.Popen([*command, "-e", str(tmp_path / "error.log")])
    try:
        with running(behind, other), behind.connect() as a, other.connect() as b:
            a.create_queue("q", transactional=True)
            b.create_queue("q", transactional=True)
            for sender, to in ((b, url), (a, f"http://127.0.0.1:{ports[1]}")):
                queue = sender.open_queue(f"DIRECT={to}/msmq/private$/q")
                with sender.transaction() as transaction:
                    queue.send_many(["1", "2", "3"], transaction=transaction)
            for receiver in (a, b):
                found = receiver.open_queue("q")
                assert [found.receive(timeout=PATIENCE).text for _ in "123"] == ["1", "2", "3"]
            until(
                lambda: not any(o.messages + o.unacknowledged for m in (a, b) for o in m.outgoing())
            )
    finally:
        proxy.terminate()
        proxy.wait(PATIENCE)


def memory(pid: int) -> int:
    """Resident bytes of a process (Linux)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def test_a_thousand_slow_posts_keep_no_one_out(machines: dict[str, ManagerProcess]) -> None:
    """SRMP-001: half of them announce 4 MB each; memory is bounded, and others are served."""
    near, far = machines["machine1"], machines["machine2"]
    host, port = far.ready["srmp"]
    before = memory(far.pid)
    with contextlib.ExitStack() as stack:
        for number in range(SLOW):
            slow = stack.enter_context(socket.create_connection((host, port), PATIENCE))
            size = LARGE if number % 2 else 1024
            head = f"POST /msmq/private$/simpleq HTTP/1.1\r\nHost: m\r\nContent-Length: {size}\r\n"
            slow.sendall(f"{head}Content-Type: text/xml\r\n\r\n<".encode())
        with near.connect() as a, far.connect() as b:
            queue = a.open_queue(f"DIRECT=http://{host}:{port}/msmq/private$/simpleq")
            far_queue = b.open_queue("simpleq")
            queue.send("1")
            assert far_queue.receive(timeout=PATIENCE).text == "1"
        growth = memory(far.pid) - before
    assert growth < GROWTH_MAX, f"{growth / SLOW:.0f} bytes for each"
