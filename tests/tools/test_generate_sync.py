"""The sync client is generated from the async one."""

from __future__ import annotations

import pytest
from tools.generate_sync import BY_HAND, FOLDERS, _apply, sync_texts


def test_the_sync_client_is_what_the_generator_writes() -> None:
    for path, text in sync_texts().items():
        assert path.read_text() == text, "run `make fix`"


def test_every_generated_module_says_so_and_has_its_source() -> None:
    for folder in FOLDERS:
        sources = {path.name for path in (folder / "_async").glob("*.py")}
        made = {path.name: path.read_text() for path in (folder / "_sync").glob("*.py")}
        assert made.keys() == sources
        for name, text in made.items():
            assert text.startswith("# @generated ") is (name not in BY_HAND)


def test_nothing_async_is_left_in_a_generated_module() -> None:
    for text in sync_texts().values():
        text = text.partition("\n")[2]  # the first line names the source
        assert "async" not in text
        assert "await" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("async def f():\n    return await g()", "def f():\n    return g()"),
        ("async def f():\n    return (await g(1))[0]", "def f():\n    return g(1)[0]"),
        ("async def f():\n    return h(await g(1))", "def f():\n    return h(g(1))"),
        ("async def f():\n    return h((await g(1)).x)", "def f():\n    return h(g(1).x)"),
        ("async def f():\n    return (await g(), 1)", "def f():\n    return (g(), 1)"),
        ("async def f():\n    await (g if h else i)", "def f():\n    (g if h else i)"),
        (
            "async def f():\n    async with g:  # why\n        pass",
            "def f():\n    with g:  # why\n        pass",
        ),
        ("async def f():\n    return [a async for a in g]", "def f():\n    return [a for a in g]"),
        ("async def __aenter__(self): ...", "def __enter__(self): ..."),
        ("raise StopAsyncIteration", "raise StopIteration"),
        ("def f(g: Callable[[], Coroutine[Any, Any, T]]): ...", "def f(g: Callable[[], T]): ..."),
        ("from openmsmq.client._async.x import y", "from openmsmq.client._sync.x import y"),
        ("import asyncio\nasyncio.Lock()", "import threading\nimport time\nthreading.Lock()"),
        ("def f():\n    'What `async with` closes.'", "def f():\n    'What `with` closes.'"),
        ("async def f():\n    'ä', await g('ä')", "def f():\n    'ä', g('ä')"),
        ("x = 'await async'", "x = 'await async'"),
    ],
)
def test_a_module_loses_async_and_await_and_nothing_else(text: str, expected: str) -> None:
    assert _apply(text) == expected


def test_what_threads_have_no_counterpart_for_is_refused() -> None:
    with pytest.raises(ValueError, match=r"line 1: asyncio\.shield has no counterpart"):
        _apply("asyncio.shield(x)")
