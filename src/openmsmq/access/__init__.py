"""Authentication of programs: tokens and client certificates, and the rights they grant."""
