"""Tests of `openmsmq.assets`."""
