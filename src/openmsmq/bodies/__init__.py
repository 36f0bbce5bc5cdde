"""What programs put into message bodies and extensions, read into plain values and written."""
