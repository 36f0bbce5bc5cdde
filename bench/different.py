"""The sides of `bench.pipelined` for messages with sizes and labels of their own."""

from __future__ import annotations

from bench import race
from bench.service import receive_pipelined, send_different

if __name__ == "__main__":
    race.take_part({"send": send_different, "receive": receive_pipelined})
