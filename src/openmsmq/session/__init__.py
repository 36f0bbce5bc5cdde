"""Sessions between queue managers ([MS-MQQB] 3.1): machines that take bytes and the time."""
