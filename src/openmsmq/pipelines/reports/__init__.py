"""`[deadletters]` and `[audit]`: reports as HTML pages."""
