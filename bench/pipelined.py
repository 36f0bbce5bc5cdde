"""The sides of `bench.service` with a receiver that goes on while what it has seen is removed."""

from __future__ import annotations

from bench import race
from bench.service import receive_pipelined, send

if __name__ == "__main__":
    race.take_part({"send": send, "receive": receive_pipelined})
