"""Which capabilities stand in a replay for those that a record names."""

from __future__ import annotations

from dataclasses import MISSING, fields

from actors.node.edges import NOT_RECORDED, names_of, replayed
from actors.node.plan import NodeCapabilities

NAMES = {
    *(field.name for field in fields(NodeCapabilities) if field.default is field.default_factory is MISSING),
    *("api.main", "api.leases", "api.events"),
} - NOT_RECORDED


def test_a_replay_has_the_capabilities_of_the_record():
    made = replayed(NAMES, lambda name: name)
    assert set(names_of(made)) == NAMES
    assert made.api is not None
    assert [str(each) for each in (made.cri, made.api.main)] == ["cri", "api.main"]


def test_what_only_a_newer_version_has_is_left_out():
    assert set(names_of(replayed((*NAMES, "telepathy", "api.gossip"), lambda name: name))) == NAMES
