"""Messages to other managers: dispatch to a transport, sequences of transactional messages, and
their confirmations.
"""
