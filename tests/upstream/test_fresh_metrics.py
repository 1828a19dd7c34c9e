"""A node without pods exports the series of a kubelet without pods, zeros included.

`python -m tools.fresh_metrics` has recorded those of kubelet 1.36.2 on containerd 1.7, beside the embedded API server.
`runtime/metrics/absent.py` has the differences, each with its reason.
"""

from __future__ import annotations

import json

import pytest

from actors.node.numbers import NodeNumbers
from runtime.metrics.absent import ABSENT, OTHER_AT_START
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tools.fresh_metrics import HERE, families_of

Families = dict[str, dict[str, list[str]]]
"""Page -> "name kind" -> its series."""

OF_KUBELETS: Families = json.loads(HERE.read_text())
KNOWN = {**ABSENT, **OTHER_AT_START}
WITH_SERIES = ("/metrics", "/metrics/probes", "/metrics/resource")
"""The series of /metrics/cadvisor are those of the machine: of its groups, disks and kernel."""


@pytest.fixture(scope="module")
def ours() -> Families:
    cluster = Cluster()
    cluster.run(2 * MINUTE)
    numbers = NodeNumbers(cluster.node.node, "1")
    pages = {
        "/metrics": numbers.metrics(),
        "/metrics/cadvisor": numbers.cadvisor(),
        "/metrics/probes": numbers.probes(),
        "/metrics/resource": numbers.resource(),
    }
    return {path: families_of(page.decode()) for path, page in pages.items()}


@pytest.mark.parametrize("page", OF_KUBELETS)
# (spec 11.7.2)
def test_every_name_that_a_fresh_kubelet_shows_is_there_with_its_type(ours: Families, page: str) -> None:
    missing = [each for each in OF_KUBELETS[page] if each not in ours[page] and each.split()[0] not in KNOWN]
    assert missing == []


@pytest.mark.parametrize("page", WITH_SERIES)
# (spec 11.7.2)
def test_the_series_of_a_fresh_node_are_those_of_a_fresh_kubelet(ours: Families, page: str) -> None:
    names = {each for each in (*OF_KUBELETS[page], *ours[page]) if not each.startswith("actorlet_")}
    different = {
        each: (OF_KUBELETS[page].get(each, []), ours[page].get(each, []))
        for each in sorted(names)
        if each.split()[0] not in KNOWN and OF_KUBELETS[page].get(each, []) != ours[page].get(each, [])
    }
    assert different == {}


def test_the_table_of_other_series_has_only_names_that_differ(ours: Families) -> None:
    seen = {
        each.split()[0]
        for page in OF_KUBELETS
        for each in (*OF_KUBELETS[page], *ours[page])
        if OF_KUBELETS[page].get(each, []) != ours[page].get(each, [])
    }
    assert set(OTHER_AT_START) <= seen
