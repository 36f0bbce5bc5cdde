"""The health check asks the console port whether the manager is ready."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from openmsmq.assets import healthcheck


@contextmanager
def console(status: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A console port whose health check answers with a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setattr(healthcheck, "ADDRESS", f"127.0.0.1:{server.server_port}/healthz")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def test_a_ready_manager_is_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    with console(200, monkeypatch):
        assert healthcheck.is_ready()


def test_a_manager_that_is_not_ready_is_unhealthy(monkeypatch: pytest.MonkeyPatch) -> None:
    with console(503, monkeypatch):
        assert not healthcheck.is_ready()


def test_a_port_without_a_manager_is_unhealthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healthcheck, "ADDRESS", "127.0.0.1:1/healthz")
    assert not healthcheck.is_ready()
