"""Other managers: where they are, and for whom their sessions may speak."""
