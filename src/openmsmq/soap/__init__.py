"""Messages as SOAP envelopes with attachments, and their packets ([MC-MQSRM] 2.2)."""
