"""`openmsmq doctor`: finds what is wrong or risky in a manager, and suggests what to do."""
