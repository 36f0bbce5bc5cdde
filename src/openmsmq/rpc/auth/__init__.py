"""Who calls, and how calls are protected: NTLM and SPNEGO ([MS-NLMP], [MS-SPNG])."""
