"""Names of interfaces and transfer syntaxes."""

from __future__ import annotations

from uuid import UUID

from openmsmq.rpc.syntax import NDR, NDR64, SyntaxId, is_feature_element


def test_the_major_version_is_the_low_half() -> None:
    syntax = SyntaxId.of("8a885d04-1ceb-11c9-9fe8-08002b104860", 2, 7)
    assert (syntax.version, syntax.major, syntax.minor) == (0x00070002, 2, 7)
    assert str(syntax) == "8a885d04-1ceb-11c9-9fe8-08002b104860 v2.7"


def test_ndr_travels_as_the_specification_shows_it() -> None:
    assert NDR.encode().hex() == "045d888aeb1cc9119fe808002b10486002000000"
    assert SyntaxId.decode(NDR.encode()) == NDR


def test_a_feature_element_is_known_by_its_prefix() -> None:
    features = UUID(bytes_le=bytes.fromhex("2c1cb76c12984045" + "0300000000000000"))
    assert is_feature_element(SyntaxId(features, 1))
    assert not is_feature_element(SyntaxId(features, 2))
    assert not is_feature_element(NDR)
    assert not is_feature_element(NDR64)
