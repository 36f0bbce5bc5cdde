"""`openmsmq pipeline`: run, watch and stop pipelines."""
