"""Messages as programs see them: values to send and values received, over packets and as JSON."""
