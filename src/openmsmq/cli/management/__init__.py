"""`openmsmq manage`: look after a manager elsewhere over remote calls."""
