"""`[replay]`: messages of an archive sent again."""
