"""Text among bytes: byte order marks first, then UTF-8, then UTF-16 that nothing announces.

A body says nothing about its characters, so what is text is a judgement:

- A byte order mark decides (UTF-8, UTF-16 of both orders).
- Strict UTF-8 is text when it holds something printable and no control characters but those that
  belong to text. A terminating null, as C programs send it, is dropped.
- UTF-16 without a mark is accepted little-endian only, and only if it is beyond doubt: two
  characters or more, all of them printable or white space, and nine in ten from one alphabet (the
  same high byte) or from Latin-1. Chinese or Japanese without a mark is left as bytes, because
  random bytes look just like it.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from typing import Final

MARKS: Final = ((BOM_UTF8, "utf-8"), (BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be"))

_ALL_MARKS = tuple(mark for mark, _ in MARKS)
_UTF16_LEAST = 2
"Characters below which unmarked UTF-16 is anyone's guess."

# Tab to carriage return, escape and the four separators (HL7, for one, frames with them) are text.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x7f-\x9f]")
_PRINTABLE = re.compile("[^\x00-\x1f]")


def decode_text(data: bytes) -> str | None:
    """The text `data` holds, without byte order mark and terminating nulls; None if it is none."""
    text = decode_marked(data)
    if text is None:
        text = decode_strictly(data, "utf-8")
    if text is not None:
        text = text.removesuffix("\0")
        if _PRINTABLE.search(text) and not _CONTROLS.search(text):
            return text
    return None if data.startswith(_ALL_MARKS) else _unmarked_utf16(data)


def decode_marked(data: bytes) -> str | None:
    """The characters after a byte order mark; None without a mark or with broken characters."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return decode_strictly(data[len(mark) :], encoding)
    return None


def decode_strictly(data: bytes, encoding: str) -> str | None:
    """`data` in `encoding`, or None if a byte does not fit."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def encodable(text: str) -> str:
    """`text` with half surrogate pairs replaced, so that any encoding of Unicode can write it."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _unmarked_utf16(data: bytes) -> str | None:
    text = decode_strictly(data, "utf-16-le")
    if text is None:
        return None
    text = text.removesuffix("\0")
    if len(text) < _UTF16_LEAST or not "".join(text.split()).isprintable():
        return None
    alphabets = Counter(data[1 : 2 * len(text) : 2])
    latin = alphabets.pop(0, 0)
    largest = max(alphabets.values(), default=0)
    return text if (latin + largest) * 10 >= len(text) * 9 else None
