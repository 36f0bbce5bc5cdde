"""A wire between two interfaces that loses, repeats and reorders frames of PGM.

`harmful_wire.py LEFT RIGHT LOST REPEATED LATE SEED`: the three are shares of 100, both ways. All
other frames pass as they are.
"""

from __future__ import annotations

import random
import select
import socket
import sys
import time

ALL_FRAMES = 3
OUTGOING = 4
"Frames of the kernel itself, which a packet socket sees, too."
PROTOCOL_AT, PGM = 14 + 9, 113
LATE_S = 0.02
Frame = tuple[float, socket.socket, bytes]


def open_interface(name: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_FRAMES))
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    opened.bind((name, 0))
    return opened


def fates(draw: random.Random, lost: int, repeated: int, late: int) -> list[bool]:
    """For each copy of a frame whether it comes late; none if it is lost."""
    number = draw.randrange(100)
    if number < lost:
        return []
    copies = 2 if number < lost + repeated else 1
    return [draw.randrange(100) < late for _ in range(copies)]


def main(left: str, right: str, *numbers: str) -> None:
    lost, repeated, late, seed = map(int, numbers)
    draw = random.Random(seed)
    ends = [open_interface(left), open_interface(right)]
    across = {ends[0]: ends[1], ends[1]: ends[0]}
    waiting: list[Frame] = []
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        wait = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select(ends, [], [], wait)[0]:
            frame, address = end.recvfrom(65_535)
            if address[2] == OUTGOING:
                continue
            if len(frame) <= PROTOCOL_AT or frame[PROTOCOL_AT] != PGM:
                across[end].send(frame)
                continue
            for is_late in fates(draw, lost, repeated, late):
                if is_late:
                    waiting.append((time.monotonic() + LATE_S, across[end], frame))
                else:
                    across[end].send(frame)
        while waiting and waiting[0][0] <= time.monotonic():
            _, end, frame = waiting.pop(0)
            end.send(frame)


if __name__ == "__main__":
    main(*sys.argv[1:])
