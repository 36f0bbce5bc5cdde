"""The directory: managers, public queues, sites and users of an enterprise ([MS-MQDSSM])."""
