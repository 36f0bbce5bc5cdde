"""Where everything that must last is kept: on disk with LMDB, or in memory for simulation."""
