"""Without the logs of agents."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Drop the logs of thousands of agents, which cost time: the trace has the facts."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
