"""A copy of the package that is broken on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.sandbox import SOURCE, Outcome, Sandbox, without_effect

MODULE = Path("openmsmq/engine/messages/cursor.py")
TEST = "tests/unit/engine/messages/test_cursor.py"
TEXT = '''
class Box:
    """Holds things."""

    size = 4

    def put(self, thing):
        """Put one in."""
        self.things.append(thing)

    @property
    def all(self):
        yield from self.things

def f(a):
    def g():
        yield a
    return g
'''


def run(text: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(text, names)
    return names


def test_a_function_does_nothing() -> None:
    changed = without_effect(TEXT, "Box.put")
    box = run(changed)["Box"]
    assert isinstance(box, type)
    made = box()
    made.things = ["a"]
    made.put("b")
    assert list(made.all) == ["a"]
    assert vars(box)["size"] == 4


def test_of_a_class_no_method_does_anything_and_a_generator_gives_nothing() -> None:
    box = run(without_effect(TEXT, "Box"))["Box"]
    assert isinstance(box, type)
    made = box()
    made.things = ["a"]
    assert list(made.all) == []


def test_a_function_that_makes_a_generator_is_none() -> None:
    f = run(without_effect(TEXT, "f"))["f"]
    assert callable(f)
    assert f(1) is None


def test_a_change_is_undone_and_the_checkout_is_left_alone(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    before = (SOURCE / MODULE).read_text()
    with sandbox.changed(MODULE, "x = 1\n"):
        assert (sandbox.source / MODULE).read_text() == "x = 1\n"
        assert (SOURCE / MODULE).read_text() == before
    assert (sandbox.source / MODULE).read_text() == before


@pytest.mark.slow
def test_tests_run_on_the_copy(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    test = f"{TEST}::test_a_new_cursor_is_before_the_first_message"
    assert sandbox.ask(MODULE, "no Python", [test], timeout=200) is Outcome.FAILED
    assert sandbox.run(["tests/none.py"], timeout=200) is Outcome.STOPPED
    assert sandbox.run([test], timeout=0.01) is Outcome.TIMEOUT
