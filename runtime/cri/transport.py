"""What the gRPC client and the gRPC server share: limits, names of codes, and a quiet gRPC.

gRPC's core writes its own lines to stderr unless told otherwise before it is first imported; a live table on the
terminal cannot have that, and all it could say comes as an error of a call anyway. `GRPC_VERBOSITY` set by the user
wins.
"""

from __future__ import annotations

import os

os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc

from runtime.cri.errors import StatusCode

# Imported from here by client and server alike, so that the line above comes first.
__all__ = ["FROM_GRPC", "MESSAGE_BYTES_MAX", "SIZE_OPTIONS", "TO_GRPC", "grpc"]

# The limit of kubelet and containerd alike; larger lists are what the streaming verbs are for.
MESSAGE_BYTES_MAX = 16 * 1024 * 1024

SIZE_OPTIONS: list[tuple[str, int | str]] = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
]

TO_GRPC: dict[StatusCode, grpc.StatusCode] = {code: grpc.StatusCode[code.name] for code in StatusCode}
FROM_GRPC: dict[grpc.StatusCode, StatusCode] = {theirs: ours for ours, theirs in TO_GRPC.items()}
