"""The documentation, as tests: generated pages are current, links lead somewhere, examples run."""
