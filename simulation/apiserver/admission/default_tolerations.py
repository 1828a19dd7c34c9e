"""DefaultTolerationSeconds: how long a pod stays on a node that is in trouble.

It tolerates a node that is not ready, or out of reach, for five minutes. Mirror pods do not. An update that leaves the
tolerations out gets them again.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulation.apiserver.admission.attributes import CREATE, UPDATE, Attributes, Plugin, is_mirror_pod
from simulation.apiserver.kinds.table import PODS
from simulation.apiserver.status import Json

_BAD_NODE_SECONDS = 300
_BAD_NODE: tuple[Json, ...] = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _BAD_NODE_SECONDS}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)


def admit(this: Attributes) -> None:
    if is_mirror_pod(this.object):
        return
    spec = this.object["spec"]
    own = spec.get("tolerations") or ()
    added = [bad for bad in _BAD_NODE if not (own and _tolerates(own, bad["key"]))]
    if added:
        this.object["spec"] = {**spec, "tolerations": [*own, *added]}


PLUGIN = Plugin("DefaultTolerationSeconds", frozenset({(PODS, "", CREATE), (PODS, "", UPDATE)}), admit=admit)


def _tolerates(tolerations: Iterable[Json], key: str) -> bool:
    return any(one.get("key", "") in (key, "") and one.get("effect", "") in ("NoExecute", "") for one in tolerations)
