"""The container runtime interface: messages, verbs, errors and the capability. Nothing here imports gRPC.

`runtime.cri.client` speaks it to a real runtime, `runtime.cri.server` serves it.
"""

from __future__ import annotations

from runtime.cri.capability import Cri
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.verbs import ALL_VERBS, Verb

__all__ = ["ALL_VERBS", "Cri", "CriError", "StatusCode", "Verb"]
