"""Notifies systemd of the service's state: `READY=1`, `WATCHDOG=1`, `STOPPING=1` (spec 11.8).

Each is one datagram to the socket in `NOTIFY_SOCKET`; without that variable nothing is sent. A failure never stops the
service: one that cannot report that it runs still runs.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping

READY = "READY=1"
STOPPING = "STOPPING=1"
WATCHDOG = "WATCHDOG=1"
LEAST_WATCHDOG_US = 1_000_000
LOG = logging.getLogger("actorlet.service-manager")


def notify(state: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Send `state`. False without a socket, and after a failure, which is logged."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address:
        return False
    # A leading @ means the abstract namespace, whose names begin with a zero byte.
    target = "\0" + address[1:] if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as teller:
            teller.sendto(state.encode(), target)
    except (OSError, ValueError) as error:
        LOG.warning("systemd cannot be told %s at %s: %s", state, address, error)
        return False
    return True


def watchdog_interval_seconds(environment: Mapping[str, str] = os.environ) -> float | None:
    """How often to send `WATCHDOG=1`: twice in systemd's interval. None without a watchdog."""
    try:
        given_us = int(environment.get("WATCHDOG_USEC", "0"))
        watched = int(environment.get("WATCHDOG_PID", "0"))
    except ValueError:
        return None
    if given_us <= LEAST_WATCHDOG_US or watched not in (0, os.getpid()):
        return None
    return given_us / 2 / 1_000_000
