"""Older remote read (qm2qm and the part of qmcomm that opens queues for it), as the host."""
