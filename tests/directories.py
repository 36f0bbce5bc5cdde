"""The enterprise of the vectors, loaded into a directory: in memory or of a domain controller."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from uuid import NAMESPACE_OID, UUID, uuid5

from openmsmq.directory.ldap.filters import ANYTHING
from openmsmq.directory.ldap.ldif import parse_ldif
from openmsmq.directory.ldap.tree import Change, SearchScope, Tree
from openmsmq.directory.memory import MemoryTree
from openmsmq.security.keys import UserCertificate, UserCertificates

FOLDER = Path(__file__).parent / "vectors" / "directory"
BASE = "DC=openmsmq,DC=test"
CONFIGURATION = f"CN=Configuration,{BASE}"
CERTIFICATE = (FOLDER / "user.der").read_bytes()
DIGEST = hashlib.md5(CERTIFICATE).digest()
TYPE = UUID("00112233-4455-6677-8899-aabbccddeeff")
LONG_NAME = "Orders.of.the.northern.region.sorted.by.customer.number.and.date.01"


def certificates(*certificates: bytes) -> bytes:
    """Certificates as a user has them."""
    made = (
        UserCertificate.register(one, uuid5(NAMESPACE_OID, hashlib.md5(one).hexdigest()))
        for one in certificates
    )
    return UserCertificates(tuple(made)).encode()


async def load(tree: Tree) -> None:
    """Add all objects of the example, in the order of the file: some need those before them."""
    text = (FOLDER / "enterprise.ldif").read_text()
    text = text.replace("{{BASE}}", BASE).replace("{{CONF}}", CONFIGURATION)
    text = text.replace("{{CERTS}}", _base64(certificates(CERTIFICATE)))
    text = text.replace("{{DIGEST}}", _base64(DIGEST))
    for block in re.split(r"\n\s*\n", text):
        for dn in set(re.findall(r"\{\{(?:GUID|HEX):(.*?)\}\}", block)):
            guid = await guid_of(tree, dn)
            block = block.replace(f"{{{{GUID:{dn}}}}}", _base64(guid.bytes_le))
            block = block.replace(f"{{{{HEX:{dn}}}}}", guid.hex)
        for record in parse_ldif(block):
            if record.is_change:
                changes = [Change(name, values) for name, values in record.attributes.items()]
                await tree.modify(record.name, changes)
            else:
                await tree.add(record.name, record.attributes)


async def guid_of(tree: Tree, name: str) -> UUID:
    """The identifier that the directory gave an object."""
    rows = await tree.search(name, SearchScope.BASE, ANYTHING, ["objectGUID"])
    return UUID(bytes_le=rows[0].values("objectGUID")[0])


async def example() -> MemoryTree:
    """The example in memory."""
    tree = MemoryTree(BASE)
    await load(tree)
    return tree


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


Attributes = Mapping[str, list[bytes]]
