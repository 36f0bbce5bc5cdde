"""The data file of LMDB, looked at without LMDB.

LMDB maps its file and trusts it: pages that are missing or make no sense end the process with a
signal. So what could do that is found here, with plain reads, before LMDB sees the file.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import lmdb.verify

from openmsmq.errors import StoreDamaged, StoreForeign, StoreTooNew
from openmsmq.limits import U64_MAX
from openmsmq.store.faults import storage_error
from openmsmq.store.limits import WALK_MAX

DATA_FILE: Final = "data.mdb"

_MAGIC: Final = struct.pack("=I", 0xBEEFC0DE)
_VERSION: Final = 1
_META_FLAG: Final = 0x08
_TREE_FLAGS: Final = (0x08, 0)  # numbers as keys in the free list, bytes in the other
_NO_PAGE: Final = U64_MAX
_PAGE_SIZES: Final = tuple(1 << bits for bits in range(8, 17))
# Number, flags; magic, version; page size, flags and root of the free list; flags and root of the
# tables; last page, transaction. All in the byte order of the machine, as LMDB writes them.
_META: Final = struct.Struct("=Q2xH4x 4sI16x IH34xQ 4xH34xQ QQ")
_MAGIC_AT: Final = 16
_MAGIC_AT_LATER: Final = 24  # in LMDB 1.0, whose page headers are longer
assert _META.size == _MAGIC_AT + 136
META_SIZE: Final = _META.size
"Bytes of a meta page that mean something."


@dataclass(frozen=True, slots=True)
class _Meta:
    """One of the two pages that say where everything else is; the later one counts."""

    number: int
    flags: int
    magic: bytes
    version: int
    page_size: int
    free_flags: int
    free_root: int
    main_flags: int
    main_root: int
    last_page: int
    transaction: int

    def fault(self, number: int, first: _Meta) -> str:
        """What cannot be true of meta page `number` beside the first one; empty if nothing."""
        pages = range(2, self.last_page + 1)
        roots = (self.free_root, self.main_root)
        whole = (
            (self.magic == _MAGIC, "its mark is gone"),
            (self.number == number, "it has the number of another page"),
            (bool(self.flags & _META_FLAG), "it is marked as another kind of page"),
            (self.version == first.version, "it has another version than the first"),
            (self.page_size == first.page_size, "it has another page size than the first"),
            ((self.free_flags, self.main_flags) == _TREE_FLAGS, "its trees are of another kind"),
            (self.last_page >= 1, "it counts too few pages"),
            (all(root in pages or root == _NO_PAGE for root in roots), "it points to no page"),
            (self.transaction % 2 == number or not self.transaction, "it was written out of turn"),
        )
        return next((text for holds, text in whole if not holds), "")


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where everything is in a data file at one moment: what its two meta pages say.

    LMDB never writes over a page that may still be read. As long as a transaction reads what the
    meta pages tell of, that is all there, whatever was written later.
    """

    page_size: int
    metas: tuple[bytes, bytes]
    roots: int
    "A checksum of the pages with which the trees begin: another file has others."

    @classmethod
    def read(cls, file: int) -> Anchor:
        """Where everything is now in a file that was checked, and is not written to meanwhile."""
        first = os.pread(file, META_SIZE, 0)
        page_size = _Meta(*_META.unpack(first)).page_size
        metas = (first, os.pread(file, META_SIZE, page_size))
        return cls(page_size, metas, _roots(file, page_size, metas))

    def is_in(self, file: int) -> bool:
        """Whether what it tells of is there."""
        return _roots(file, self.page_size, self.metas) == self.roots

    def put_back(self, file: int) -> None:
        """Let the file be again what it was then."""
        for number, meta in enumerate(self.metas):
            os.pwrite(file, meta, number * self.page_size)
        os.fsync(file)


def _roots(file: int, page_size: int, metas: tuple[bytes, bytes]) -> int:
    latest = max((_Meta(*_META.unpack(meta)) for meta in metas), key=lambda meta: meta.transaction)
    roots = [root for root in (latest.free_root, latest.main_root) if root != _NO_PAGE]
    return zlib.crc32(b"".join(os.pread(file, page_size, root * page_size) for root in roots))


def check(path: Path, *, walk_max: int = WALK_MAX) -> None:
    """Refuse a file that LMDB could not open, or could not survive; it is only read.

    Every page of a file up to `walk_max` bytes is looked at, of a larger one the first two.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            latest = _latest(file, path, size)
    except OSError as error:
        raise storage_error(error) from error
    # Pages at the end that are free may never have been written, so that a file which is too
    # short is not yet a damaged one: the walk knows which pages matter.
    is_short = size < (latest.last_page + 1) * latest.page_size
    if is_short or size <= walk_max:
        _walk(path)


def _walk(path: Path) -> None:
    """Look at every page of the file, which must not be written to meanwhile."""
    try:
        # The library has types for its main module only.
        faults = lmdb.verify.verify(str(path), subdir=False)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise storage_error(error) from error
    except lmdb.verify.VerifyError as error:
        raise StoreDamaged(f"{path}: {error}") from error
    if faults:
        raise StoreDamaged(f"{path}: {faults[0]}")


def _latest(file: BinaryIO, path: Path, size: int) -> _Meta:
    """The meta page that counts, both having been checked."""
    if not size:
        raise StoreDamaged(f"{path} is empty")
    start = file.read(max(_PAGE_SIZES) + _META.size)
    if start[_MAGIC_AT_LATER:].startswith(_MAGIC):
        raise StoreTooNew(f"{path} is of a later LMDB")
    if not any(start[at + _MAGIC_AT :].startswith(_MAGIC) for at in (0, *_PAGE_SIZES)):
        raise StoreForeign(f"{path} is no LMDB file")
    if len(start) < _META.size:
        raise StoreDamaged(f"{path} ends within its first page")
    first = _Meta(*_META.unpack_from(start))
    if first.page_size not in _PAGE_SIZES:
        raise StoreDamaged(f"{path}: page 0 is damaged, its page size is impossible")
    if len(start) < first.page_size + _META.size:
        raise StoreDamaged(f"{path} ends within its second page")
    second = _Meta(*_META.unpack_from(start, first.page_size))
    for number, meta in enumerate((first, second)):
        if fault := meta.fault(number, first):
            raise StoreDamaged(f"{path}: page {number} is damaged, {fault}")
    if first.version != _VERSION:
        raise StoreTooNew(f"{path} has version {first.version} of LMDB's own format")
    return max(first, second, key=lambda meta: meta.transaction)
