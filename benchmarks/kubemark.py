"""Starts a kubemark with the flags of a kubelet: benchmarks put it in the place of an agent.

    python -m benchmarks.kubemark FILE --config=FILE --kubeconfig=FILE --root-dir=DIRECTORY --hostname-override=NAME

`FILE` is the program kubemark, of the same minor release as our agent. It is a kubelet whose runtime is a fake in the
same process, and whose mounts, probes and events are fakes too. So it takes only some of what a kubelet is told: its
ports, how many pods it may have, and its limit of requests. The process becomes kubemark.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOTS = (Path("/tmp"), "hollow-kubelet.*")
"""Where each kubemark makes its root directory, whatever it is told."""


def command(program: str, given: argparse.Namespace, configuration: Mapping[str, Any]) -> list[str]:
    """The words that start kubemark. `configuration`: the fields of a KubeletConfiguration."""
    flags = {
        "morph": "kubelet",
        "name": given.hostname_override,
        "kubeconfig": given.kubeconfig,
        "kubelet-port": configuration["port"],
        "kubelet-read-only-port": configuration["readOnlyPort"],
        "max-pods": configuration["maxPods"],
        "kube-api-qps": configuration["kubeAPIQPS"],
        "kube-api-burst": configuration["kubeAPIBurst"],
        "kube-api-content-type": configuration.get("contentType", "application/vnd.kubernetes.protobuf"),
        "use-host-image-service": "false",
    }
    return [program, *(f"--{name}={value}" for name, value in flags.items())]


@contextmanager
def roots_removed() -> Iterator[None]:
    """Remove the root directories that kubemarks have made meanwhile: they leave them behind."""
    place, pattern = ROOTS
    before = set(place.glob(pattern))
    try:
        yield
    finally:
        for root in set(place.glob(pattern)) - before:
            shutil.rmtree(root)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="FILE", help="the program kubemark")
    for name in ("config", "kubeconfig", "root-dir", "hostname-override"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    with open(given.config, encoding="utf-8") as file:
        configuration = json.load(file)
    os.execv(given.program, command(given.program, given, configuration))


if __name__ == "__main__":
    main()
