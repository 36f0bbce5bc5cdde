"""`openmsmq topology`: sites, links and routes, from a file or a manager."""
