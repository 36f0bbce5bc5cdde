"""The store: LMDB on disk, or memory that can fail at any write; backup, migration and checks."""
