"""A program that asks a service over REST."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from tests.e2e.managers import ManagerProcess

Request = tuple[str, str, Any]
Answer = tuple[int, dict[str, Any]]


class RestProgram:
    """The holder of a token."""

    def __init__(self, process: ManagerProcess, token: str) -> None:
        host, port = process.ready["console"]
        self.place = f"http://{host}:{port}/api/v1"
        self.token = token

    def ask(self, request: Request, **headers: str) -> Answer:
        """What the service answers: a status, and what is in the body."""
        method, path, body = request
        data = None if body is None else json.dumps(body).encode()
        head = {"Authorization": f"Bearer {self.token}"}
        head |= {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None:
            head["Content-Type"] = "application/json"
        asked = urllib.request.Request(self.place + path, data=data, headers=head, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        try:
            found = json.loads(text) if text else {}
        except ValueError:
            found = {"text": text.decode(errors="replace")}
        return status, found if isinstance(found, dict) else {"list": found}

    def headers(self, request: Request) -> Mapping[str, str]:
        """The headers of what the service answers to a request that it does."""
        method, path, body = request
        head = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode()
        asked = urllib.request.Request(self.place + path, data=data, headers=head, method=method)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return dict(answer.headers)

    def run(self, plan: dict[str, Any]) -> Answer:
        """Make a plan, carry it out and wait for its end; or the refusal."""
        status, made = self.ask(("POST", "/plans", plan))
        if status != 201:
            return status, made
        path = f"/plans/{made['id']}"
        status, found = self.ask(("POST", f"{path}/run", {}))
        while status < 300 and found["state"] == "running":
            time.sleep(0.005)
            status, found = self.ask(("GET", path, None))
        if status < 300 and found["state"] == "interrupted":
            return 403 if "0xC00E0025" in found["error"] else 422, {"detail": found["error"]}
        return status, found
