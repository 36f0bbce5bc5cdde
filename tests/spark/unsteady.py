"""An object store that is not always there: a proxy that fails all that is written at first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length"}


class UnsteadyStore(ThreadingHTTPServer):
    """Passes requests on to an address, those that write from the second time on."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.target = target.removeprefix("http://")
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Request(BaseHTTPRequestHandler):
    server: UnsteadyStore
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        body = self._body()
        asked = f"{self.command} {self.path}"
        is_new = asked not in self.server.asked
        self.server.asked.append(asked)
        if is_new and self.command in ("PUT", "POST"):
            self.send_error(503, "Slow Down")
            return
        link = HTTPConnection(self.server.target, timeout=30)
        given = [one for one in self.headers.items() if one[0].lower() not in HOP_BY_HOP]
        link.request(self.command, self.path, body, dict(given))
        answer = link.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        size = answer.getheader("Content-Length", "0") if self.command == "HEAD" else len(data)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(data)
        link.close()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def unsteady(target: str) -> Iterator[UnsteadyStore]:
    """A proxy for an object store."""
    with UnsteadyStore(target) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
