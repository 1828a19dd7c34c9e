"""Runs inside a machine: static pods come, change and go, until the power is cut.

    python3 churn.py SEED

`/host/kinds.json` has pods by kind. Each is dropped under a name of its own, `KIND-N`. A manifest is on the disk before
the next step begins. Steps are told in `/host/churn.log`.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from threading import Event
from typing import Any

MANIFESTS = Path("/etc/kubernetes/manifests")
AT_MOST = 3
_NEVER = Event()


def main() -> None:
    chance = random.Random(sys.argv[1])
    kinds = json.loads(Path("/host/kinds.json").read_text())
    with Path("/host/churn.log").open("a", buffering=1) as log:
        while True:
            there = sorted(path for path in MANIFESTS.glob("*.json") if not path.name.startswith(("keep", ".")))
            step = chance.choice(("drop", "drop", "change", "withdraw"))
            if step == "drop" and len(there) < AT_MOST:
                kind = chance.choice(sorted(kinds))
                path = MANIFESTS / f"{kind}-{chance.randrange(10**6)}.json"
                write(path, named(kinds[kind], path.stem))
            elif step == "change" and there:
                path = chance.choice(there)
                write(path, changed(json.loads(path.read_text()), chance.randrange(10**6)))
            elif step == "withdraw" and there:
                path = chance.choice(there)
                path.unlink()
                settle()
            else:
                continue
            log.write(f"{step} {path.stem}\n")
            _NEVER.wait(chance.uniform(0.2, 6))


def named(pod: dict[str, Any], name: str) -> dict[str, Any]:
    return json.loads(json.dumps(pod).replace("NAME", name))


def changed(pod: dict[str, Any], version: int) -> dict[str, Any]:
    pod["metadata"].setdefault("labels", {})["version"] = str(version)
    for each in pod["spec"]["containers"]:
        others = [one for one in each.get("env", []) if one["name"] != "VERSION"]
        each["env"] = [*others, {"name": "VERSION", "value": str(version)}]
    return pod


def write(path: Path, pod: dict[str, Any]) -> None:
    """All of it or nothing, and on the disk."""
    hidden = path.with_name(f".{path.name}")
    with hidden.open("w") as file:
        json.dump(pod, file)
        file.flush()
        os.fsync(file.fileno())
    hidden.rename(path)
    settle()


def settle() -> None:
    directory = os.open(MANIFESTS, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


if __name__ == "__main__":
    main()
