"""Tests of what is released: the wheel and the sdist, installed in empty environments."""
