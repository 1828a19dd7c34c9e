"""The actor that runs on the current thread."""

from __future__ import annotations

import threading
from typing import Any


class _Context(threading.local):
    cell: Any = None
    """The cell that runs on this thread. It is the sender of its messages, and it must not block."""
    constructing: Any = None
    """The cell whose actor is constructed on this thread: the actor's constructor takes it from here."""


context = _Context()
