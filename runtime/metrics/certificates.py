"""How long certificates are good: `kubelet_certificate_manager_*_ttl_seconds`."""

from __future__ import annotations

import math
import time
from datetime import UTC
from pathlib import Path

from config.credentials.kubeconfig import Pem


def seconds_left(pem: Pem) -> float:
    """Until the first certificate of it ends; +Inf where there is none, or none that can be read."""
    # Heavy, and of no use before somebody asks.
    from cryptography import x509

    try:
        text = pem.data.encode() if pem.data else Path(pem.path).read_bytes() if pem.path else b""
        if not text:
            return math.inf
        certificate = x509.load_pem_x509_certificate(text)
    except (OSError, ValueError):
        return math.inf
    # In UTC, and without saying so, in the versions of Debian 12.
    ends = getattr(certificate, "not_valid_after_utc", None) or certificate.not_valid_after.replace(tzinfo=UTC)
    return float(ends.timestamp() - time.time())
