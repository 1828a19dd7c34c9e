"""No agent of these tests asks its API server for more than `deploy/rbac.yaml` grants."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulation.node.grants import GrantedApi


@pytest.fixture(autouse=True)
def asks_for_nothing_else() -> Iterator[None]:
    GrantedApi.refused.clear()
    yield
    assert GrantedApi.refused == []
