"""Keys and ciphers of NTLM, by the examples of their specifications."""

from __future__ import annotations

from openmsmq.rpc.auth.crypto import Rc4, direction_key, hmac_md5, response_key
from openmsmq.security.nt_hash import nt_hash


def test_keys_are_those_of_the_example_of_ntlm_version_2() -> None:
    """[MS-NLMP] 4.2.2.1.2, 4.2.4.1.1."""
    assert nt_hash("Password").hex() == "a4f49c406510bdcab6824ee7c30fd852"
    key = response_key(nt_hash("Password"), "User", "Domain")
    assert key.hex() == "0c868a403bfd7a93a3001ef22ef02e3f"


def test_each_direction_has_keys_of_its_own() -> None:
    session_key = b"\x55" * 16
    keys = [
        direction_key(session_key, direction, purpose).hex()
        for direction in ("client-to-server", "server-to-client")
        for purpose in ("signing", "sealing")
    ]
    assert keys == [
        "4788dc861b4782f35d43fd98fe1a2d39",
        "59f600973cc4960a25480a7c196e4c58",
        "d04d6f10741041d1d246d64188d7a8ad",
        "9355f3a957c1583d25c4c2f11e40390e",
    ]


def test_rc4_goes_on_where_it_was() -> None:
    key, stream = bytes(range(1, 6)), "b2396305f03dc027ccc3524a0a1118a8"  # RFC 6229
    assert Rc4(key).crypt(bytes(16)).hex() == stream
    cipher = Rc4(key)
    assert (cipher.crypt(bytes(5)) + cipher.crypt(bytes(11))).hex() == stream


def test_hmac_md5_is_that_of_rfc_2104() -> None:
    digest = hmac_md5(b"Jefe", b"what do ya want for nothing?")
    assert digest.hex() == "750c783e6ab0b503eaa86e310a5db738"
