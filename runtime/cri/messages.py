"""All messages and enumerations of runtime.v1, by the names they have in the interface.

`runtime/cri/v1/messages.py` is generated from `runtime/cri/v1/api.proto`, which says what the fields mean. Absent
messages are `None`, absent lists `()`, absent maps empty, absent scalars the zero of their type, as in proto3.
"""

from __future__ import annotations

from runtime.cri.v1.messages import *  # noqa: F403
