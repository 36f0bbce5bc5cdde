"""Message transfer by SOAP over HTTP ([MC-MQSRM]): requests, streams, receipts, retries."""
