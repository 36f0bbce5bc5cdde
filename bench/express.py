"""The sides of `bench.service` for messages that need not outlive the manager."""

from __future__ import annotations

from bench import race
from bench.service import receive, send_express

if __name__ == "__main__":
    race.take_part({"send": send_express, "receive": receive})
