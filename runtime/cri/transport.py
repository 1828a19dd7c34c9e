"""Shared by the gRPC client and server: limits, names of codes, and quiet logs of gRPC.

gRPC's core writes to stderr, unless `GRPC_VERBOSITY` is set before its first import. That would disturb a live table on
the terminal, and the errors of calls carry the same facts. A `GRPC_VERBOSITY` of the user stays.
"""

from __future__ import annotations

import os

os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc

from runtime.cri.errors import StatusCode

# Client and server import gRPC from here, so that the line above runs first.
__all__ = ["FROM_GRPC", "MESSAGE_BYTES_MAX", "SIZE_OPTIONS", "TO_GRPC", "grpc"]

# The limit of kubelet and containerd alike; larger lists need the streaming verbs.
MESSAGE_BYTES_MAX = 16 * 1024 * 1024

SIZE_OPTIONS: list[tuple[str, int | str]] = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
]

TO_GRPC: dict[StatusCode, grpc.StatusCode] = {code: grpc.StatusCode[code.name] for code in StatusCode}
FROM_GRPC: dict[grpc.StatusCode, StatusCode] = {theirs: ours for ours, theirs in TO_GRPC.items()}
