"""Keys and certificates as structures; nothing here encrypts, signs or verifies."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from struct import Struct
from typing import Annotated, Final
from uuid import UUID

from openmsmq.wire.fixed import U8, U16, U32, Bytes16, Fixed, Guid, Named, fixed
from openmsmq.wire.reader import Reader, decode_whole
from openmsmq.wire.text import decode_utf16, encode_utf16z

SIMPLE_BLOB: Final = 0x01
PUBLIC_KEY_BLOB: Final = 0x06
BLOB_VERSION: Final = 0x02
RSA_MAGIC: Final = 0x31415352
"`RSA1`, read as a number."
CALG_RSA_KEYX: Final = 0xA400
CALG_RSA_SIGN: Final = 0x2400
PROVIDER_TYPES: Final = frozenset({1, 0x18})
"PROV_RSA_FULL and PROV_RSA_AES ([MS-MQMQ] 2.2.1)."
_U32 = Struct("<I")


@fixed
class BlobHeader(Fixed):
    """BLOBHEADER ([MS-MQDS] 2.2.19), the first eight bytes of every key blob."""

    b_type: Annotated[U8, Named("bType")]
    b_version: Annotated[U8, Named("bVersion")]
    w_reserved: Annotated[U16, Named("wReserved")]
    ai_key_alg: Annotated[U32, Named("aiKeyAlg")]


@fixed
class RsaHeader(Fixed):
    """RSAPUBKEY up to its modulus ([MS-MQDS] 2.2.18)."""

    magic: Annotated[U32, Named("magic")]
    bit_len: Annotated[U32, Named("bitLen")]
    pub_exp: Annotated[U32, Named("pubExp")]


assert BlobHeader.SIZE == 8
assert RsaHeader.SIZE == 12


@dataclass(frozen=True, slots=True)
class PublicKeyBlob:
    """PUBLICKEYBLOB: an RSA public key ([MS-MQQB] 2.4.1).

    The same layout holds a signing key, then with CALG_RSA_SIGN ([MS-MQDS] 2.2.19).
    """

    public_exponent: int
    modulus: bytes
    "Little-endian, as on the wire."
    algorithm: int = CALG_RSA_KEYX

    @property
    def bit_length(self) -> int:
        """The length of the modulus in bits."""
        return len(self.modulus) * 8

    @classmethod
    def read(cls, reader: Reader) -> PublicKeyBlob:
        """The key that comes next."""
        with reader.section("PUBLICKEYBLOB"):
            algorithm = _read_header(reader, PUBLIC_KEY_BLOB)
            if algorithm not in (CALG_RSA_KEYX, CALG_RSA_SIGN):
                found = f"0x{algorithm:08X} is no RSA key"
                reader.fail("aiKeyAlg", found, offset=reader.offset - 4)
            start = reader.offset
            rsa = reader.fixed(RsaHeader)
            if rsa.magic != RSA_MAGIC:
                reader.fail("magic", f"0x{rsa.magic:08X} is not RSA1", offset=start)
            if rsa.bit_len % 8 or not rsa.bit_len:
                found = f"a modulus cannot have {rsa.bit_len} bits"
                reader.fail("bitLen", found, offset=start + 4)
            return cls(rsa.pub_exp, reader.take(rsa.bit_len // 8, "modulus"), algorithm)

    @classmethod
    def decode(cls, data: bytes) -> PublicKeyBlob:
        """The key `data` consists of."""
        return decode_whole(data, cls.read)

    def encode(self) -> bytes:
        """The bytes of this key."""
        header = BlobHeader(PUBLIC_KEY_BLOB, BLOB_VERSION, 0, self.algorithm)
        rsa = RsaHeader(RSA_MAGIC, self.bit_length, self.public_exponent)
        return header.pack() + rsa.pack() + self.modulus


@dataclass(frozen=True, slots=True)
class SimpleBlob:
    """SIMPLEBLOB: a session key encrypted for one receiver ([MS-MQQB] 2.4.2).

    The diagram draws 256 bytes of ciphertext, but it is as long as the receiver's modulus, so it
    is whatever follows the header.
    """

    session_key_algorithm: int
    encrypted_key: bytes
    "RSAES-PKCS1-v1_5 ciphertext, little-endian."

    @classmethod
    def read(cls, reader: Reader) -> SimpleBlob:
        """The key that takes up the rest of the data."""
        with reader.section("SIMPLEBLOB"):
            session_key_algorithm = _read_header(reader, SIMPLE_BLOB)
            algorithm = reader.u32("aiKeyAlg")
            if algorithm != CALG_RSA_KEYX:
                found = f"0x{algorithm:08X} does not exchange keys"
                reader.fail("aiKeyAlg", found, offset=reader.offset - 4)
            return cls(session_key_algorithm, reader.take(reader.remaining, "encryptedKey"))

    @classmethod
    def decode(cls, data: bytes) -> SimpleBlob:
        """The key `data` consists of."""
        return decode_whole(data, cls.read)

    def encode(self) -> bytes:
        """The bytes of this key."""
        header = BlobHeader(SIMPLE_BLOB, BLOB_VERSION, 0, self.session_key_algorithm)
        return header.pack() + _U32.pack(CALG_RSA_KEYX) + self.encrypted_key


def _read_header(reader: Reader, kind: int) -> int:
    """The algorithm in the BLOBHEADER of a blob that must be of this kind ([MS-MQDS] 2.2.19)."""
    start = reader.offset
    header = reader.fixed(BlobHeader)
    if header.b_type != kind:
        reader.fail("bType", f"{header.b_type} is not {kind}", offset=start)
    if header.b_version != BLOB_VERSION:
        reader.fail("bVersion", f"{header.b_version} is not {BLOB_VERSION}", offset=start + 1)
    if header.w_reserved:
        reader.fail("wReserved", f"{header.w_reserved} is not 0", offset=start + 2)
    return header.ai_key_alg


@fixed
class DirectoryKeyHeader(Fixed):
    """The fixed part of MQDSPUBLICKEY ([MS-MQMQ] 2.2.1)."""

    ul_key_len: Annotated[U32, Named("ulKeyLen")]
    ul_provider_len: Annotated[U32, Named("ulProviderLen")]
    ul_provider_type: Annotated[U32, Named("ulProviderType")]


@dataclass(frozen=True, slots=True)
class DirectoryPublicKey:
    """MQDSPUBLICKEY: a public key and the provider that made it ([MS-MQMQ] 2.2.1)."""

    provider_type: int
    provider_name: str
    key: bytes
    "BLOBHEADER and RSAPUBKEY; `public_key` reads them."

    @classmethod
    def read(cls, reader: Reader) -> DirectoryPublicKey:
        """The key that comes next."""
        with reader.section("MQDSPUBLICKEY"):
            start = reader.offset
            header = reader.fixed(DirectoryKeyHeader)
            if header.ul_provider_type not in PROVIDER_TYPES:
                found = f"{header.ul_provider_type} is unknown"
                reader.fail("ulProviderType", found, offset=start + 8)
            name = decode_utf16(reader.utf16(header.ul_provider_len, "sProviderName"))
            if len(encode_utf16z(name)) != header.ul_provider_len:
                reader.fail("ulProviderLen", "the name does not end there", offset=start + 4)
            return cls(header.ul_provider_type, name, reader.take(header.ul_key_len, "aBuf"))

    def encode(self) -> bytes:
        """The bytes of this key."""
        name = encode_utf16z(self.provider_name)
        header = DirectoryKeyHeader(len(self.key), len(name), self.provider_type)
        return header.pack() + name + self.key

    def public_key(self) -> PublicKeyBlob:
        """The key in the form that encrypts ([MS-MQQB] 3.1.7.1.5.2)."""
        found = PublicKeyBlob.decode(self.key)
        return PublicKeyBlob(found.public_exponent, found.modulus)


@fixed
class DirectoryKeysHeader(Fixed):
    """The fixed part of MQDSPUBLICKEYS ([MS-MQMQ] 2.2.2)."""

    ul_len: Annotated[U32, Named("ulLen")]
    c_num_of_keys: Annotated[U32, Named("cNumofKeys")]


@dataclass(frozen=True, slots=True)
class DirectoryPublicKeys:
    """MQDSPUBLICKEYS: the public keys of one queue manager ([MS-MQMQ] 2.2.2)."""

    keys: tuple[DirectoryPublicKey, ...]

    @classmethod
    def read(cls, reader: Reader) -> DirectoryPublicKeys:
        """The keys that come next."""
        with reader.section("MQDSPUBLICKEYS"):
            start = reader.offset
            header = reader.fixed(DirectoryKeysHeader)
            _check_count(reader, "cNumofKeys", header.c_num_of_keys, DirectoryKeyHeader.SIZE)
            keys = tuple(DirectoryPublicKey.read(reader) for _ in range(header.c_num_of_keys))
            size = reader.offset - start
            if size != header.ul_len:
                reader.fail("ulLen", f"{header.ul_len} for {size} bytes", offset=start)
            return cls(keys)

    @classmethod
    def decode(cls, data: bytes) -> DirectoryPublicKeys:
        """The keys `data` consists of."""
        return decode_whole(data, cls.read)

    def encode(self) -> bytes:
        """The bytes of these keys."""
        keys = b"".join(key.encode() for key in self.keys)
        return (
            DirectoryKeysHeader(DirectoryKeysHeader.SIZE + len(keys), len(self.keys)).pack() + keys
        )

    def of_provider(self, name: str) -> DirectoryPublicKey | None:
        """The first key made by the provider of this name, if any ([MS-MQQB] 3.1.7.1.5)."""
        return next((key for key in self.keys if key.provider_name == name), None)


@fixed
class CertificateHeader(Fixed):
    """The fixed part of MQUSERSIGNCERT ([MS-MQMQ] 2.2.22)."""

    digest: Bytes16
    identifier: Guid
    certificate_length: U32


@dataclass(frozen=True, slots=True)
class UserCertificate:
    """MQUSERSIGNCERT: a certificate a user registered to sign with ([MS-MQMQ] 2.2.22)."""

    digest: bytes
    identifier: UUID
    certificate: bytes
    "X.509, DER."

    @classmethod
    def register(cls, certificate: bytes, identifier: UUID) -> UserCertificate:
        """An entry for `certificate`, with its digest."""
        return cls(_md5(certificate), identifier, certificate)

    @property
    def is_intact(self) -> bool:
        """True if the digest is that of the certificate ([MS-MQMQ] 2.2.22)."""
        return self.digest == _md5(self.certificate)

    @classmethod
    def read(cls, reader: Reader) -> UserCertificate:
        """The certificate that comes next."""
        with reader.section("MQUSERSIGNCERT"):
            header = reader.fixed(CertificateHeader)
            certificate = reader.take(header.certificate_length, "Certificate")
            return cls(header.digest, header.identifier, certificate)

    def encode(self) -> bytes:
        """The bytes of this entry."""
        header = CertificateHeader(self.digest, self.identifier, len(self.certificate))
        return header.pack() + self.certificate


@dataclass(frozen=True, slots=True)
class UserCertificates:
    """MQUSERSIGNCERTS: the certificates a user signs with ([MS-MQMQ] 2.2.21)."""

    certificates: tuple[UserCertificate, ...]

    @classmethod
    def read(cls, reader: Reader) -> UserCertificates:
        """The certificates that come next."""
        with reader.section("MQUSERSIGNCERTS"):
            count = reader.u32("CertificateCount")
            _check_count(reader, "CertificateCount", count, CertificateHeader.SIZE)
            return cls(tuple(UserCertificate.read(reader) for _ in range(count)))

    @classmethod
    def decode(cls, data: bytes) -> UserCertificates:
        """The certificates `data` consists of."""
        return decode_whole(data, cls.read)

    def encode(self) -> bytes:
        """The bytes of these certificates."""
        entries = b"".join(entry.encode() for entry in self.certificates)
        return _U32.pack(len(self.certificates)) + entries


def _check_count(reader: Reader, name: str, count: int, least: int) -> None:
    """Refuse the count just read if this many structures of `least` bytes cannot follow."""
    if count * least > reader.remaining:
        found = f"{count} structures cannot fit in {reader.remaining} bytes"
        reader.fail(name, found, offset=reader.offset - 4)


def _md5(certificate: bytes) -> bytes:
    """The name of a certificate; MD5 is what the wire has, it secures nothing here."""
    return hashlib.md5(certificate, usedforsecurity=False).digest()
