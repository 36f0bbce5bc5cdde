"""Messages to other managers: dispatch, sequences, confirmations."""
