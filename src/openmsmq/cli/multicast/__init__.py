"""`openmsmq multicast`: send to a group and listen to one, without a queue manager."""
