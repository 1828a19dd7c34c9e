"""All messages and enumerations of runtime.v1, by their names in the interface.

`runtime/cri/v1/messages.py` is generated from `runtime/cri/v1/api.proto`, which documents the fields. As in proto3,
absent messages are `None`, absent lists `()`, absent maps empty, and absent scalars the zero of their type.
"""

from __future__ import annotations

from runtime.cri.v1.messages import *  # noqa: F403
