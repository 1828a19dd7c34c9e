"""The network between a node and the API server: lost messages are late.

What is cut off arrives after the cut.
"""

from __future__ import annotations

import pytest

from simulation.chance.network import RESENT_AFTER_NS, LinkFaults, NetworkLink

MS = 10**6
SECOND = 10**9


def link(faults: LinkFaults | None = None, seed: str = "1", now_ns: int = 0) -> NetworkLink:
    return NetworkLink(lambda: now_ns, 2 * MS, seed, faults)


def test_a_link_that_is_well_takes_its_latency_and_answers_take_nothing_more():
    assert [link().there_ns(), link().back_ns()] == [2 * MS, 0]
    assert link().is_plain()


def test_delays_come_on_top_in_both_directions():
    slow = link(LinkFaults(delay_ns=(10 * MS, 20 * MS)))
    assert all(12 * MS <= slow.there_ns() <= 22 * MS for _ in range(50))
    assert all(10 * MS <= slow.back_ns() <= 20 * MS for _ in range(50))


def test_a_lost_packet_is_sent_again_after_growing_delays():
    lossy = link(LinkFaults(loss=0.5))
    took = {lossy.back_ns() // RESENT_AFTER_NS for _ in range(200)}
    assert {0, 1, 3, 7} <= took, "never, once, twice and three times"
    assert lossy.lost > 0


def test_a_packet_sent_over_a_cut_link_arrives_when_it_is_repaired():
    now = [0]
    cut = NetworkLink(lambda: now[0], 2 * MS, "1")
    cut.cut(5 * SECOND)
    assert cut.there_ns() == 5 * SECOND + 2 * MS
    now[0] = 4 * SECOND
    assert not cut.is_plain()
    assert cut.back_ns() == SECOND
    now[0] = 6 * SECOND
    assert (cut.there_ns(), cut.is_plain()) == (2 * MS, True)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_seed_decides_and_healing_ends_it(seed: str):
    faults = LinkFaults(delay_ns=(0, SECOND), loss=0.3)
    first, again = link(faults, seed), link(faults, seed)
    assert [first.there_ns() for _ in range(20)] == [again.there_ns() for _ in range(20)]
    first.heal()
    assert first.there_ns() == 2 * MS
