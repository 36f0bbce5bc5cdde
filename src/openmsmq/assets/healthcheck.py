"""Exits with 0 if the queue manager of this container is ready; for HEALTHCHECK."""

from __future__ import annotations

import ssl
import sys
from urllib.request import urlopen

ADDRESS = "127.0.0.1:1810/healthz"
SECONDS = 5


def is_ready() -> bool:
    """Whether it says so, over HTTP or, if it has a certificate, over HTTPS."""
    # It is asked from the same container, so that the certificate need not be checked.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for scheme in ("http", "https"):
        try:
            with urlopen(f"{scheme}://{ADDRESS}", timeout=SECONDS, context=context) as answer:  # noqa: S310  # only these
                return bool(answer.status == 200)
        except OSError:
            continue
    return False


if __name__ == "__main__":
    sys.exit(not is_ready())
