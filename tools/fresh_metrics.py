"""`python -m tools.fresh_metrics URL`: records which metrics a kubelet without pods exports.

URL is its server, such as https://127.0.0.1:10250, that lets everybody read (`authorization.mode: AlwaysAllow`). Start
it beside an API server, and ask a minute later: what it does each minute has been done then. Names, types and series
are written to `tests/upstream/fresh_metrics.json`, without values.
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import sys
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "tests/upstream/fresh_metrics.json"
PAGES = ("/metrics", "/metrics/cadvisor", "/metrics/probes", "/metrics/resource")
LIMIT_S = 60

_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+(?: \d+)?")
_WITH_BUCKETS = ("histogram", "summary")
_OF_MACHINES = frozenset(
    (
        *("boot_id", "device", "host", "id", "interface", "kernelVersion", "machine_id", "node", "osVersion"),
        *("build_date", "compiler", "git_commit", "git_tree_state", "git_version", "go_version", "platform"),
        *("system_uuid", "version"),
    )
)
"""Labels whose values tell of the machine or the program: they are written as `*`."""


def families_of(page: str) -> dict[str, list[str]]:
    """The families of a page in the text format of Prometheus.

    Gives "name kind" -> its series, as labels by name, sorted. Buckets, quantiles and the families of Go are left out.
    """
    kinds: dict[str, str] = {}
    found: dict[str, set[str]] = {}
    for line in page.splitlines():
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:4]
            if not name.startswith("go_"):
                kinds[name] = kind
                found[f"{name} {kind}"] = set()
        elif (sample := _SAMPLE.fullmatch(line)) is not None:
            name, labels = sample[1], sample[2] or ""
            family = name if name in kinds else name.removesuffix("_count")
            kind = kinds.get(family, "")
            if kind and (kind in _WITH_BUCKETS) == (family != name):
                found[f"{family} {kind}"].add(_plain(labels))
    return {family: sorted(series) for family, series in sorted(found.items())}


def _plain(labels: str) -> str:
    pairs = sorted(_LABEL.findall(labels))
    return ",".join(f'{name}="{"*" if name in _OF_MACHINES else value}"' for name, value in pairs)


def _read(url: str) -> str:
    context = ssl.create_default_context()
    context.check_hostname = False  # it signs its certificate itself
    context.verify_mode = ssl.CERT_NONE
    with urllib.request.urlopen(url, timeout=LIMIT_S, context=context) as answer:
        return str(answer.read().decode())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fresh_metrics", description="record a kubelet's metrics")
    parser.add_argument("url", help="of the kubelet's server")
    parser.add_argument("--to", type=Path, default=HERE, help="default: tests/upstream/fresh_metrics.json")
    options = parser.parse_args()
    found = {page: families_of(_read(f"{options.url.rstrip('/')}{page}")) for page in PAGES}
    options.to.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
