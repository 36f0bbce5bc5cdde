"""The tests of OpenMSMQ; CONTRIBUTING.md says which kind lives where."""
