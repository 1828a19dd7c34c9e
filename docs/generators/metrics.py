"""Draw `docs/reference/metrics.md`: every name of `runtime.metrics` with its type and labels."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from docs.generators.drawn_page import DrawnPage, main
from runtime.metrics import cadvisor_names, kubelet, own, resource, slis
from runtime.metrics.absent import ABSENT, OTHER_AT_START
from runtime.metrics.families import Family

HEAD = """# Metrics and usage

What a node says in numbers. This page is drawn from the code: `python -m docs.generators.metrics`.

## Usage

`NodeStatsActor` (`actors/node/stats.py`) takes a sample when somebody asks and the last one is older than ten seconds;
while nobody asks nothing is read. A first question takes half a second, since a rate needs two samples.

| what | from |
|---|---|
| CPU, memory, writable layer of containers, network and processes of pods | the runtime (CRI), where it tells |
| the same, limits, throttling, block devices, pressure | control groups (1 or 2) of the process the runtime names |
| the node | the root group, /proc |
| its parts `kubelet` and `runtime` | their control groups, or their processes when these are in the root group |
| its parts `pods` and `misc` | the control group of all pods, and that of `systemCgroups` |
| open files and sockets | /proc of each process of a container; sockets once a minute |
| volumes and logs of a pod | counted on disk, once a minute at most (`volumeStatsAggPeriod`; 0: never) |
| image and container file systems | the runtime says where and how much, `statvfs` the rest |

A disk that does not answer costs its own numbers: its calls run on a lane, are waited for two seconds in all, and one
that hangs is not asked again. Pods take turns, and a driver is asked about 32 volumes of a pod after each count. What
could not be had is counted in `actorlet_stats_problems`.
`actors/eviction/signals.py` makes the signals of eviction of the same sample.

While the runtime does not say which pods there are, `/stats/summary` is 500 and no list without pods, and the pages
have the node's own numbers and a 1 in `resource_scrape_error` and `container_scrape_error`.

`/stats/summary` is `stats.v1alpha1` as a kubelet tells it; `?only_cpu_and_memory=true` is the short form. The embedded
API server serves `metrics.k8s.io` by asking the agents, so `kubectl top` works without a metrics server. A simulated
node uses what its containers' annotations say ([the simulated runtime](simulated-runtime.md)).

## Pages

| path | what |
|---|---|
| `/metrics` | what the agent has done, and how it is: names of a kubelet, and ours (`actorlet_`) |
| `/metrics/cadvisor` | the machine, pods and containers, with the labels of cAdvisor |
| `/metrics/resource` | the few numbers that autoscalers live on, with the time they were read at |
| `/metrics/probes` | probes, by container |
| `/metrics/slis` | the checks of health |

All need the subresource `metrics` of the node. A scrape in Prometheus:

```yaml
scheme: https
metrics_path: /metrics/cadvisor
authorization: {credentials_file: /var/run/secrets/kubernetes.io/serviceaccount/token}
```

What is counted lies in `Meters` (`runtime/metrics/meters.py`), on the library of Prometheus: an update takes a
microsecond or two, from any thread, and never fails. A family keeps a bounded number of series; what comes beyond is
counted in `actorlet_metrics_refused_total`. Actors are told by their class, never one by one, so the page is as long
with 5,000 pods as with five; only what is about containers, volumes and probes grows with them. The series of a probe
go with their pod. The names of a kubelet are kept also where promtool would have others (`kubelet_pleg_discard_events`
is a counter).

`tests/upstream/metrics.txt` lists the metrics of kubelet 1.36: each is exported with its type and labels, or stands in
the table at the end with the reason. The dashboards and alerts of kubernetes-mixin are asked of a node on containerd
(`tests/real/test_agent_dashboards.py`); `tests/upstream/dashboards.py` says which panels stay empty, and why. A node
without pods has the series of a kubelet without pods, zeros included, but for those in the last table.
`python -m tools.fresh_metrics` has recorded them.

A measurement is one line where the thing happens. A new name is one line in `runtime/metrics`: in `kubelet.py`,
`kubelet_api.py`, or `own.py`.
"""


class MetricsPage(DrawnPage, frozen=True):
    def text(self) -> str:
        return "\n".join(
            [
                HEAD,
                _table("/metrics: names of a kubelet", kubelet.FAMILIES),
                _table("/metrics: ours", own.FAMILIES),
                _table("/metrics/probes", kubelet.AT_PROBES),
                _table("/metrics/resource", resource.FAMILIES),
                _table("/metrics/cadvisor", cadvisor_names.FAMILIES),
                _table("/metrics/slis", slis.FAMILIES),
                _with_reasons("Names of a kubelet that do not apply", ABSENT),
                _with_reasons("Series of a node without pods that differ", OTHER_AT_START),
            ]
        )


def _table(title: str, families: Iterable[Family]) -> str:
    rows = [f"## {title}", "", "| name | type | labels | |", "|---|---|---|---|"]
    for each in families:
        labels = ", ".join(f"`{label}`" for label in each.labels)
        rows.append(f"| `{each.name}` | {each.kind.value} | {labels} | {each.help} |")
    return "\n".join(rows) + "\n"


def _with_reasons(title: str, names_with_reasons: Mapping[str, str]) -> str:
    reasons: dict[str, list[str]] = {}
    for name, reason in names_with_reasons.items():
        reasons.setdefault(reason, []).append(name)
    rows = [f"## {title}", "", "| because | names |", "|---|---|"]
    rows += [f"| {reason} | {_list(names)} |" for reason, names in reasons.items()]
    return "\n".join(rows) + "\n"


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


PAGE = MetricsPage("metrics")

if __name__ == "__main__":
    sys.exit(main(PAGE))
