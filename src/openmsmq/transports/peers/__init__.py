"""The peer table: identities and addresses of other managers, and their sessions."""
