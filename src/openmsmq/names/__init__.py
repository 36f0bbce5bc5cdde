"""Queue names: path names and format names, as text and as bytes."""
