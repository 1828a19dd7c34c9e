"""Spec 4.4: the family of the host's address as it was published and as it is."""

from __future__ import annotations

import pytest

from actors.pod_status.api_status import family_differs


@pytest.mark.parametrize(
    ("published", "node", "differs"),
    [
        (None, ("192.0.2.1",), False),
        ("192.0.2.9", (), False),
        ("192.0.2.9", ("192.0.2.1", "2001:db8::1"), False),
        ("2001:db8::9", ("192.0.2.1", "2001:db8::1"), True),
        ("192.0.2.9", ("2001:db8::1",), True),
    ],
)
# (spec 4.4.3)
def test_a_host_address_of_another_family_than_published_spec_4_4(
    published: str | None, node: tuple[str, ...], differs: bool
) -> None:
    assert family_differs(published, node) is differs
