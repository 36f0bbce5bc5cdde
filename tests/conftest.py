"""Settings of the test run."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("default"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Whoever runs in the background may have been told to ignore it, and would hand that on to the
# processes that tests start: some interrupt those, or themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)
