"""The file that contexts are in."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmsmq.cli.contexts.file import Context, Contexts, contexts_file, load, save
from openmsmq.errors import InvalidParameter, StorageError

SHOP = Context("shop", "shop:1811", "secret", "/etc/ca.pem")
OFFICE = Context("office", "office:1811")


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "contexts.json"
    contexts = Contexts().with_context(SHOP).with_context(OFFICE).using("shop")
    save(path, contexts)
    assert load(path) == contexts
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["contexts.json"]


def test_a_file_that_others_could_read_is_replaced_by_one_that_they_cannot(tmp_path: Path) -> None:
    path = tmp_path / "contexts.json"
    path.write_text('{"format": 1, "current": "", "contexts": []}')
    path.chmod(0o644)
    save(path, load(path).with_context(SHOP))
    assert path.stat().st_mode & 0o777 == 0o600


def test_without_a_file_there_are_none(tmp_path: Path) -> None:
    assert load(tmp_path / "contexts.json") == Contexts()
    assert Contexts().in_use is None


@pytest.mark.parametrize(
    "text",
    [
        "not JSON",
        "[]",
        "{}",
        '{"format": 2, "current": "", "contexts": []}',
        '{"format": 1, "current": "", "contexts": [{"name": "shop"}]}',
        '{"format": 1, "current": "", "contexts": [{"name": "shop", "manager": 7}]}',
        '{"format": 1, "current": "", "contexts": [{"name": "a", "manager": "b", "more": ""}]}',
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "contexts.json"
    path.write_text(text)
    with pytest.raises(StorageError, match=r"contexts\.json cannot be read"):
        load(path)


def test_a_context_that_is_removed_is_in_use_no_longer() -> None:
    contexts = Contexts().with_context(SHOP).with_context(OFFICE).using("shop")
    assert contexts.without("office").in_use == SHOP
    assert contexts.without("shop") == Contexts((OFFICE,))


def test_a_context_is_replaced_by_one_of_its_name() -> None:
    other = Context("shop", "elsewhere:1811")
    assert Contexts().with_context(SHOP).with_context(other).known == (other,)


@pytest.mark.parametrize("name", ["", "-", "a b", "a/b", "x" * 65, "\x1b[1m"])
def test_names_are_plain(name: str) -> None:
    with pytest.raises(InvalidParameter, match="no name for a context"):
        Contexts().with_context(Context(name, "shop:1811"))


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(InvalidParameter, match="no context 'shop'; there are none"):
        Contexts().named("shop")
    with pytest.raises(InvalidParameter, match="there are office"):
        Contexts((OFFICE,)).using("shop")


def test_a_token_is_not_in_the_repr() -> None:
    assert "secret" not in repr(Contexts((SHOP,)))


def test_the_place_of_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert contexts_file() == tmp_path / "openmsmq" / "contexts.json"
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert contexts_file() == tmp_path / ".config" / "openmsmq" / "contexts.json"
