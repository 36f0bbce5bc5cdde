"""The tools that hold the tests to their word."""
