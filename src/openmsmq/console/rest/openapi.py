"""The description of the API in OpenAPI 3.1, made from its routes and models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from openmsmq import __version__
from openmsmq.console.problems import TYPE, Problem
from openmsmq.console.rest.calls import ApiRoute

_PART: Final = re.compile(r"\{(\w+)\}")
_REF: Final = "#/components/schemas/{name}"
_INTEGERS: Final = ("limit", "cursor", "after", "before", "step", "messages", "uncommitted")
_FLAGS: Final = ("everything", "nonempty", "newest", "newer", "preview", "trend")
_LISTS: Final = ("column", "lookup_id")


def describe(routes: Sequence[ApiRoute]) -> dict[str, Any]:
    """All routes and models as one document."""
    kinds = [kind for route in routes for kind in (route.answer, route.body) if kind is not None]
    schemas, components = msgspec.json.schema_components([*kinds, Problem], ref_template=_REF)
    by_kind = list(zip([*kinds, Problem], schemas, strict=True))

    def schema(kind: Any) -> Any:
        return next(found for known, found in by_kind if known is kind or known == kind)

    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "OpenMSMQ",
            "version": __version__,
            "description": "Queue managers, queues and messages over HTTP.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: ApiRoute, schema: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": route.handler.__name__.strip("_"),
        "summary": route.summary,
        "description": f"Needs the role `{route.role}`.",
        "x-role": route.role,
        "parameters": [
            *(_path_parameter(name) for name in _PART.findall(route.path)),
            *(_query_parameter(name, text) for name, text in (route.query or {}).items()),
        ],
        "responses": {
            str(route.status): _answer(route, schema),
            "default": {
                "description": "Why it was not done",
                "content": {TYPE: {"schema": schema(Problem)}},
            },
        },
    }
    if route.body is not None:
        content = {"application/json": {"schema": schema(route.body)}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _answer(route: ApiRoute, schema: Any) -> dict[str, Any]:
    if route.answer is None:
        return {"description": "Done" if route.status == 204 else "The bytes"}
    return {
        "description": "Done",
        "content": {"application/json": {"schema": schema(route.answer)}},
    }


def _path_parameter(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "schema": {"type": "string", "minLength": 1, "maxLength": 500},
    }


def _query_parameter(name: str, text: str) -> dict[str, Any]:
    kind = "string"
    if name in _INTEGERS:
        kind = "integer"
    elif name in _FLAGS:
        kind = "boolean"
    schema: dict[str, Any] = {"type": kind}
    if name in _LISTS:
        schema = {"type": "array", "items": schema}
    return {"name": name, "in": "query", "description": text, "schema": schema}
