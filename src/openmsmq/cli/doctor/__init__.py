"""`openmsmq doctor`: what is wrong or risky."""
