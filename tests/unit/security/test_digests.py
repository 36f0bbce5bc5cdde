"""Digests by their numbers."""

from __future__ import annotations

import sys

import pytest

from openmsmq.errors import UnsupportedOperation
from openmsmq.security.digests import CALG_MD2, DIGEST_INFO, SOUND, digest

EMPTY = {
    0x8001: "8350e5a3e24c153df2275c9f80692773",
    0x8002: "31d6cfe0d16ae931b73c59d7e0c089c0",
    0x8003: "d41d8cd98f00b204e9800998ecf8427e",
    0x8004: "da39a3ee5e6b4b0d3255bfef95601890afd80709",
}


@pytest.mark.parametrize("algorithm", DIGEST_INFO)
def test_digests_have_the_length_their_information_says(algorithm: int) -> None:
    if algorithm == CALG_MD2:
        pytest.importorskip("Crypto", reason="MD2 needs the extra legacy")
    found = digest(algorithm, b"")
    assert len(found) == DIGEST_INFO[algorithm][-1]
    if algorithm in EMPTY:
        assert found.hex() == EMPTY[algorithm]


def test_only_two_are_sound() -> None:
    assert set(SOUND) == {0x800C, 0x800E}


def test_md2_needs_a_package_and_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Crypto.Hash", None)
    with pytest.raises(UnsupportedOperation, match=r"openmsmq\[legacy\]"):
        digest(CALG_MD2, b"")
