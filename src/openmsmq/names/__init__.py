"""Queue names: path names, format names, their binary forms, comparison and location."""
