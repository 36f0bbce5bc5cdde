"""Writes `docs/rest.md` from the routes and models of the REST API."""

from __future__ import annotations

from typing import Any, Final

from openmsmq.console.application import ROUTES
from openmsmq.console.rest.openapi import describe

HEAD: Final = """# REST API

All that the [console](console.md) does, over HTTP at the console port, under `/api/v1`. This page
is written by `make docs`; a service answers the same as OpenAPI 3.1 at `/api/v1/openapi.json`.

Programs log in with a token of `openmsmq token create` in each request: `Authorization: Bearer
TOKEN`. The manager itself decides what the token may do, as it does for every other program; the
column *role* says what is needed. Names of queues are path names or format names, percent-
encoded. Lookup identifiers are texts, since they have 64 bits. Times are RFC 3339. Errors are
problem details (RFC 9457, `application/problem+json`) with `detail`, `code`, `hresult` and
`advice`. A POST with `Idempotency-Key` is done once: the same answer comes again, and a message
that is sent so has the key as its deduplication id. `PATCH` of a queue needs its `ETag` in `If-
Match`. Lists say where they go on in `next`.

```sh
curl -H "Authorization: Bearer $OPENMSMQ_TOKEN" http://127.0.0.1:1810/api/v1/managers
```

| Request | Role | Does |
|---|---|---|
"""


def page() -> str:
    """The page."""
    found = describe(ROUTES)
    rows = "".join(
        f"| `{route.method} {route.path}` | {route.role} | {_text(route.summary, route.query)} |\n"
        for route in ROUTES
    )
    models = "".join(
        _model(name, schema)
        for name, schema in sorted(found["components"]["schemas"].items())
        if schema.get("properties")
    )
    return f"{HEAD}{rows}\n## Objects\n{models}"


def _text(summary: str, query: Any) -> str:
    words = "; ".join(f"`{name}`: {text}" for name, text in (query or {}).items())
    return (f"{summary}. Query: {words}" if words else summary).replace("|", "\\|")


def _model(name: str, schema: dict[str, Any]) -> str:
    title = schema.get("description", "").partition("\n")[0]
    needed = set(schema.get("required", ()))
    fields = ", ".join(
        f"`{field}`" if field in needed else f"`{field}?`" for field in schema["properties"]
    )
    return f"\n**{name}**: {title} {fields}\n"
