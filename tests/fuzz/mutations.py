"""Inputs made from the corpus without a look at coverage: many times as many inputs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

SLOW_S: Final = 20.0
"Seconds of processor time that no input may take."
SIZE_MAX: Final = 4096
NUMBERS: Final = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
"What lengths, counts and offsets are tried with."
STEP: Final = 10_000
"Inputs between two words about progress."


class Mutations:
    """Draws inputs: some of the corpus, changed in a few places."""

    def __init__(self, corpus: Sequence[bytes], seed: int) -> None:
        self._corpus = corpus
        self._random = random.Random(seed)  # it has to repeat

    def draw(self) -> bytes:
        """One input."""
        found = bytearray(self._random.choice(self._corpus))
        for _ in range(self._random.randint(1, 6)):
            self._change(found)
        return bytes(found[:SIZE_MAX])

    def _change(self, data: bytearray) -> None:
        draw = self._random
        at, size = draw.randint(0, len(data)), draw.randint(1, 8)
        other = draw.choice(self._corpus)
        match draw.randrange(8):
            case 0:
                data[at : at + 1] = draw.randbytes(1)
            case 1:
                data[at : at + 1] = bytes(
                    byte ^ 1 << draw.randrange(8) for byte in data[at : at + 1]
                )
            case 2:
                width = draw.choice((1, 2, 4))
                number = draw.choice(NUMBERS) & (1 << 8 * width) - 1
                data[at : at + width] = number.to_bytes(width, "little")
            case 3:
                del data[at : at + size]
            case 4:
                data[at:at] = draw.randbytes(size)
            case 5:
                data[at:at] = data[at : at + 8 * size]
            case 6:
                data[at:] = other[draw.randint(0, len(other)) :]
            case _:
                data += other


def run(
    target: Callable[[bytes], None],
    corpus: Sequence[bytes],
    runs: int,
    seed: int,
    crash: Path,
    say: Callable[[str], object],
) -> bool:
    """Give a target that many inputs; the first that breaks a promise is left in a file."""
    drawn = Mutations(corpus, seed)
    start = time.process_time()
    for count in range(1, runs + 1):
        data = drawn.draw()
        began = time.process_time()
        try:
            target(data)
        except BaseException as error:
            crash.write_bytes(data)
            say(f"input {count} of seed {seed}, now in {crash}: {error!r}\n")
            return False
        now = time.process_time()
        if now - began > SLOW_S:
            crash.write_bytes(data)
            say(f"input {count} of seed {seed}, now in {crash}: {now - began:.0f} s\n")
            return False
        if count % STEP == 0 or count == runs:
            rate = count / max(now - start, 1e-9)
            say(f"{count:,} of {runs:,} inputs of seed {seed}, {rate:,.0f} a second\n")
    return True
