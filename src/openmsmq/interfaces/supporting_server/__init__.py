"""The supporting server (qmcomm, qmcomm2): clients without a queue manager use this one."""
