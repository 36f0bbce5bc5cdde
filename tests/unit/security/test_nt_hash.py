"""The hash of passwords that NTLM works with."""

from __future__ import annotations

import pytest

from openmsmq.security.nt_hash import md4, nt_hash


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("", "31d6cfe0d16ae931b73c59d7e0c089c0"),
        ("abc", "a448017aaf21d8525fc10ae87aa6729d"),
        ("message digest", "d9130a8164549fe818874806e1c7014b"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "e33b4ddc9c38f2199c3e7b164fcc0536",
        ),
    ],
)
def test_md4_gives_the_digests_of_rfc_1320(text: str, digest: str) -> None:
    assert md4(text.encode()).hex() == digest


def test_the_hash_of_a_password_is_that_of_the_specification() -> None:
    """[MS-NLMP] 4.2.2.1.2."""
    assert nt_hash("Password").hex() == "a4f49c406510bdcab6824ee7c30fd852"
