"""The scratch directory of the decoders is removed with the tests.

A worker of xdist ends without the hooks of an exit.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.decoder import SCRATCH


@pytest.fixture(scope="session", autouse=True)
def no_scratch_left() -> Iterator[None]:
    yield
    SCRATCH.cleanup()
