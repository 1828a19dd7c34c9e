"""The levels that the labels of a namespace ask for, and what a pod does wrong at them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from simulation.pod_security.checks import Fault, faults_of

Json: TypeAlias = Mapping[str, Any]
PREFIX = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted")
"""The laxest first."""
LATEST = "latest"
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]{0,8})")
_PODS_AT_MOST = 3000
"""The pods of a namespace that are checked when its level changes."""


class LevelVersion(NamedTuple):
    """A level as of a version of Kubernetes: `latest` or `v1.25`."""

    level: str = "privileged"
    version: str = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    def faults(self, metadata: Json, spec: Json) -> list[Fault]:
        """What a pod does wrong at that level."""
        minor = None if self.version == LATEST else int(self.version.removeprefix("v1."))
        return faults_of(self.level, minor, metadata, spec)


class Policy(NamedTuple):
    """What is refused, and what is warned of. `faults`: wrong labels, as (label, value, why)."""

    enforce: LevelVersion
    warn: LevelVersion
    faults: tuple[tuple[str, str, str], ...] = ()


def policy_of(labels: Mapping[str, str] | None) -> Policy:
    """The policy of a namespace. An unknown level refuses as `restricted`, and does not warn."""
    labels, faults, read = labels or {}, [], {}
    for mode in ("enforce", "audit", "warn"):
        level, version = labels.get(PREFIX + mode), labels.get(f"{PREFIX}{mode}-version")
        if level is not None and level not in LEVELS:
            faults.append((PREFIX + mode, level, f"must be one of {', '.join(LEVELS)}"))
            level = "restricted" if mode == "enforce" else "privileged"
        if version is not None and version != LATEST and not _VERSION.fullmatch(version):
            faults.append((f"{PREFIX}{mode}-version", version, 'must be "latest" or "v1.x"'))
            version = LATEST
        read[mode] = LevelVersion(level or "privileged", version or LATEST)
    enforce, warn = read["enforce"], read["warn"]
    is_known = labels.get(f"{PREFIX}enforce") in LEVELS
    if is_known and f"{PREFIX}warn" not in labels and enforce.level != "privileged":
        version = warn.version if f"{PREFIX}warn-version" in labels else enforce.version
        warn = LevelVersion(enforce.level, version)
    return Policy(enforce, warn, tuple(faults))


def is_stricter(one: LevelVersion, other: LevelVersion) -> bool:
    """Whether pods that are good at the other level may be bad at this one."""
    if one == other or one.level == "privileged":
        return False
    return one.version != other.version or LEVELS.index(one.level) > LEVELS.index(other.level)


def in_detail(faults: Iterable[Fault]) -> str:
    """Faults in the words of a refusal."""
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in faults)


def warnings_of_pods(namespace: str, level: LevelVersion, pods: Iterable[Json]) -> list[str]:
    """What to say of the pods of a namespace that gets this level.

    Of a controller's pods, the first is looked at before the others.
    """
    first: list[Json] = []
    later: list[Json] = []
    controllers: set[str] = set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        uid = next((owner["uid"] for owner in owners if owner.get("controller")), "")
        (later if uid in controllers else first).append(pod)
        controllers |= {uid} - {""}
    every = [*first, *later]
    names: dict[str, list[str]] = {}
    for pod in every[:_PODS_AT_MOST]:
        faults = level.faults(pod["metadata"], pod["spec"])
        if faults:
            names.setdefault(", ".join(reason for reason, _ in faults), []).append(pod["metadata"]["name"])
    said = []
    if len(every) > _PODS_AT_MOST:
        checked = f"the first {_PODS_AT_MOST} of {len(every)} existing pods"
        said.append(f"new PodSecurity enforce level only checked against {checked}")
    if names:
        said.append(f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{level}"')
    return said + sorted(f"{_shown(those)}: {reasons}" for reasons, those in names.items())


def _shown(names: list[str]) -> str:
    others = len(names) - 1
    return f"{min(names)} (and {others} other pod{'s' if others > 1 else ''})" if others else names[0]
