"""`[replay]`: sends the messages of an archive again."""
