"""What is in the bodies of messages: conditions, columns, trees, masks."""
