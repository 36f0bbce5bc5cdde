"""`openmsmq demo`: two managers, a crash and Spark, with exact counts."""
