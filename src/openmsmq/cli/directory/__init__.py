"""`openmsmq directory`: managers, public queues, sites and users of an Active Directory."""
