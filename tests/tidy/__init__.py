"""House rules, as tests: what is not checked decays."""
