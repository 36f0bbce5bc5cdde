"""Management over remote calls (qmmgmt): properties of managers and queues, and six actions."""
