"""Runs inside a machine: compares the manifests with what the kernel, the runtime and the disk show.

    python3 look.py actorlet|kubelet [LIMIT_S]

It looks every two seconds until all is as the manifests say, or the limit is over. It prints one JSON object. `wrong`
is empty when all is well, and `waited_for` is what was wrong in the look before. `twice` has every container that was
seen alive twice at one moment, in any of the looks.

Live containers are those with a living process of their own, whatever the runtime thinks.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

NODE = "machine-1"
MANIFESTS = Path("/etc/kubernetes/manifests")
ROOT = Path("/var/lib/kubelet")
TASKS = Path("/run/containerd/io.containerd.runtime.v2.task/k8s.io")
KUBEPODS = Path("/sys/fs/cgroup/kubepods.slice")
LOGS = Path("/var/log/pods")
Look = dict[str, Any]
_NEVER = Event()


def main() -> None:
    agent, limit_s = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    began, twice, waited_for = time.monotonic(), Counter[str](), list[str]()
    while True:
        seen = look(agent)
        alive: list[str] = seen["live"]
        twice |= Counter({key: count for key, count in Counter(alive).items() if count > 1})
        waited = time.monotonic() - began
        if not seen["wrong"] or waited > limit_s:
            break
        waited_for = seen["wrong"]
        _NEVER.wait(2)
    more = {"twice": dict(twice), "waited_s": round(waited, 1), "waited_for": waited_for, "uptime_s": uptime()}
    print(json.dumps({**seen, **more}))


def look(agent: str) -> Look:
    """One look at everything."""
    wanted = {name: names_of_containers(pod) for name, pod in manifests().items()}
    pods = {name_of(pod): pod for pod in pods_of(agent)}
    live = live_containers()
    uids = {each["metadata"]["annotations"].get("kubernetes.io/config.hash", "") for each in pods.values()}
    uids |= {each["metadata"]["uid"] for each in pods.values()}
    uids |= {uid for _, _, uid in live}
    wrong = [f"{name}: not shown" for name in wanted if name not in pods]
    wrong += [f"{name}: shown, without a manifest" for name in pods if name not in wanted]
    wrong += [f"{name}: {not_ready(pod)}" for name, pod in pods.items() if name in wanted and not_ready(pod)]
    should = Counter(f"{pod}/{part}" for pod, parts in wanted.items() for part in parts)
    does = Counter(f"{pod}/{part}" for pod, part, _ in live)
    wrong += [f"{key}: {does[key]} alive, should be {should[key]}" for key in should | does if should[key] != does[key]]
    if not wrong:
        # Only now each UID is of a pod that should be.
        wrong += remains(uids)
    return {
        "wrong": wrong,
        "live": [f"{pod}/{part}" for pod, part, _ in live],
        "restarts": {name: restarts(pod) for name, pod in pods.items()},
        "pods": {name: {"uid": pod["metadata"]["uid"], "status": pod.get("status", {})} for name, pod in pods.items()},
        "unreadable": unreadable(),
        "torn_networks": torn_networks(),
    }


def manifests() -> dict[str, dict[str, Any]]:
    found = [json.loads(path.read_text()) for path in MANIFESTS.glob("[!.]*.json")]
    return {each["metadata"]["name"]: each for each in found}


def names_of_containers(pod: dict[str, Any]) -> list[str]:
    """What of it stays alive, the sandbox (empty) included; nothing of a pod that runs once."""
    if ends_alone(pod):
        return []
    sidecars = [each for each in pod["spec"].get("initContainers", []) if each.get("restartPolicy") == "Always"]
    return ["", *(each["name"] for each in [*pod["spec"]["containers"], *sidecars])]


def ends_alone(pod: dict[str, Any]) -> bool:
    return pod["spec"].get("restartPolicy") == "Never"


def name_of(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["name"]).removesuffix(f"-{NODE}")


def pods_of(agent: str) -> list[dict[str, Any]]:
    """What the agent shows; nothing while it does not answer."""
    try:
        if agent == "actorlet":
            connection = http.client.HTTPConnection("localhost", timeout=20)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(20)
            connection.sock.connect(str(ROOT / "actorlet.sock"))
        else:
            connection = http.client.HTTPConnection("127.0.0.1", 10255, timeout=20)
        connection.request("GET", "/pods")
        told = json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return []
    return (told.get("items") or []) if isinstance(told, dict) else told


def not_ready(pod: dict[str, Any]) -> str:
    """Why it is not as it should be; empty when it is."""
    status = pod.get("status", {})
    if ends_alone(pod):
        return "" if status.get("phase") in ("Succeeded", "Failed") else f"{status.get('phase')}, not ended"
    if any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", [])):
        return ""
    return f"{status.get('phase')} {status.get('reason', '')}, not ready"


def restarts(pod: dict[str, Any]) -> dict[str, int]:
    status = pod.get("status", {})
    listed = [*status.get("containerStatuses", []), *status.get("initContainerStatuses", [])]
    return {each["name"]: each["restartCount"] for each in listed}


def live_containers() -> list[tuple[str, str, str]]:
    """Pod, container (empty: the sandbox) and UID of what has a living first process."""
    found = []
    for place in TASKS.iterdir() if TASKS.is_dir() else ():
        try:
            pid = int((place / "init.pid").read_text())
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            notes = json.loads((place / "config.json").read_text())["annotations"]
        except (OSError, ValueError, KeyError):
            continue
        if state not in "ZX":
            prefix = "io.kubernetes.cri."
            name = notes[f"{prefix}sandbox-name"].removesuffix(f"-{NODE}")
            found.append((name, notes.get(f"{prefix}container-name", ""), notes.get(f"{prefix}sandbox-uid", "")))
    return found


def remains(uids: set[str]) -> list[str]:
    """What is left of pods that are not among these."""
    uids = {uid for uid in uids if uid}
    found = []
    places = (ROOT / "pods").iterdir() if (ROOT / "pods").is_dir() else ()
    found += [f"directory {place}" for place in places if place.name not in uids]
    for line in Path("/proc/self/mounts").read_text().splitlines():
        path = line.split()[1]
        if path.startswith(f"{ROOT}/pods/") and path.split("/")[5] not in uids:
            found.append(f"mount {path}")
    for place in KUBEPODS.glob("**/kubepods-*pod*.slice"):
        if place.name.rpartition("-pod")[2].removesuffix(".slice").replace("_", "-") not in {
            uid.replace("_", "-") for uid in uids
        }:
            found.append(f"cgroup {place}")
    if torn_networks():
        # The runtime cannot remove their sandboxes, and logs go after these.
        return found
    for place in LOGS.iterdir() if LOGS.is_dir() else ():
        if place.name.rpartition("_")[2] not in uids:
            found.append(f"logs {place}")
    found += [f"link {link}" for link in Path("/var/log/containers").glob("*") if not link.exists()]
    others = ",".join(f'labels."io.kubernetes.pod.uid"!={uid}' for uid in sorted(uids))
    listed = subprocess.run(
        ["ctr", "-n", "k8s.io", "containers", "ls", "-q", *([others] if others else [])],
        capture_output=True,
        text=True,
        check=False,
    )
    return found + [f"container {each} in the runtime" for each in listed.stdout.split()]


def torn_networks() -> list[str]:
    """Results of CNI that a power cut has torn."""
    return sorted(str(path) for path in Path("/var/lib/cni/results").glob("*") if not is_document(path))


def is_document(path: Path) -> bool:
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


def unreadable() -> list[str]:
    found = [*ROOT.glob("**/*.unreadable"), *ROOT.glob("image_manager/unreadable/*/*")]
    return sorted(str(path) for path in found)


def uptime() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])


if __name__ == "__main__":
    os.environ.setdefault("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
    main()
