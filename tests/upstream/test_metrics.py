"""Every metric of kubelet 1.36 is exported with its type and labels, or has a reason.

The reasons are in `runtime/metrics/absent.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from runtime.metrics import cadvisor_names, kubelet, own, resource, slis
from runtime.metrics.absent import ABSENT
from runtime.metrics.families import Family

DATA = Path(__file__).with_name("metrics.txt")
EXPORTED: Mapping[str, tuple[Family, ...]] = {
    "/metrics": (*kubelet.FAMILIES, *own.FAMILIES),
    "/metrics/probes": (*kubelet.AT_PROBES, kubelet.PROCESS_START),
    "/metrics/slis": slis.FAMILIES,
    "/metrics/resource": resource.FAMILIES,
    "/metrics/cadvisor": cadvisor_names.FAMILIES,
}
OURS = {
    "/metrics": tuple(family.name for family in own.FAMILIES),
    "/metrics/cadvisor": (
        *("container_fs_inodes_free", "container_fs_inodes_total", "container_fs_limit_bytes"),
        "container_fs_usage_bytes",
    ),
}
"""More than a kubelet on containerd exports. Those of cAdvisor are its own names, of disks."""


class Metric(msgspec.Struct, frozen=True):
    page: str
    name: str
    kind: str
    labels: frozenset[str]


def upstream() -> Iterator[Metric]:
    page = ""
    for line in DATA.read_text().splitlines():
        words = line.split()
        if line.startswith("page "):
            page = words[1]
        elif words and not line.startswith("#"):
            yield Metric(page, words[0], words[1], frozenset(words[2:]) | shared_labels(page, words[0]))


def shared_labels(page: str, name: str) -> frozenset[str]:
    if page != "/metrics/cadvisor" or name.endswith("scrape_error") or not name.startswith(("container_", "machine_")):
        return frozenset()
    return frozenset(cadvisor_names.OF_MACHINE if name.startswith("machine_") else cadvisor_names.OF_CONTAINER)


UPSTREAM = tuple(upstream())


@pytest.mark.parametrize("metric", UPSTREAM, ids=lambda metric: f"{metric.page} {metric.name}")
# (spec 11.7.1)
def test_a_metric_of_a_kubelet_is_exported_or_listed_with_a_reason(metric: Metric) -> None:
    families = {family.name: family for family in EXPORTED[metric.page]}
    if metric.name in ABSENT:
        assert metric.name not in families, "it is exported, so runtime/metrics/absent.py need not list it"
        return
    assert metric.name in families, "export it, or list it in runtime/metrics/absent.py"
    family = families[metric.name]
    assert (family.kind.value, frozenset(family.labels)) == (metric.kind, metric.labels)


def test_no_name_is_listed_as_absent_that_a_kubelet_does_not_have() -> None:
    assert set(ABSENT) <= {metric.name for metric in UPSTREAM}


@pytest.mark.parametrize("page", EXPORTED)
# (spec 11.7.1)
def test_a_page_has_no_name_that_a_kubelet_does_not_have_but_the_listed_ones(page: str) -> None:
    known = {metric.name for metric in UPSTREAM if metric.page == page}
    assert {family.name for family in EXPORTED[page]} - known == set(OURS.get(page, ()))


@pytest.mark.parametrize("page", EXPORTED)
def test_a_page_has_each_name_once(page: str) -> None:
    names = [family.name for family in EXPORTED[page]]
    assert len(names) == len(set(names))
