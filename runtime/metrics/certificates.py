"""Remaining lifetime of certificates: `kubelet_certificate_manager_*_ttl_seconds`."""

from __future__ import annotations

import math
import time
from datetime import UTC
from pathlib import Path

from config.credentials.kubeconfig import Pem
from runtime.io.x509_faults import x509_faults_as_value_errors


def seconds_left(pem: Pem) -> float:
    """Seconds until the first certificate in the file expires; +Inf without a readable one."""
    try:
        text = pem.data.encode() if pem.data else Path(pem.path).read_bytes() if pem.path else b""
        if not text:
            return math.inf
        # Heavy (7 MiB), and not needed before the first scrape.
        from cryptography import x509

        with x509_faults_as_value_errors():
            certificate = x509.load_pem_x509_certificate(text)
    except (OSError, ValueError):
        return math.inf
    # In UTC without a time zone, with the library's version of Debian 12.
    ends = getattr(certificate, "not_valid_after_utc", None) or certificate.not_valid_after.replace(tzinfo=UTC)
    return float(ends.timestamp() - time.time())
