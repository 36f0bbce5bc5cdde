"""Benchmarks: ours beside hand-written code or peers in the same run, since machines are noisy."""
