"""Specs of pods, each worked out and kept once: pods that are made of one template have one spec.

What the defaults make of a spec, what is wrong with it and its class of service follow from its content alone, so a
thousand replicas cost the work and the memory of one. A spec that is handed out here belongs to all pods that have it,
and is replaced, never changed. A bounded number is remembered, the newest ones. Pure.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from config.documents.codec import DocumentError, from_builtins, to_builtins
from config.objects import Pod
from config.pods.defaults import default_pod
from config.pods.identity import compute_qos_class
from config.validation.pod import validate_spec
from simulation.apiserver.by_identity import NOT_KNOWN, ByIdentity
from simulation.apiserver.status import Json

SPECS_AT_MOST = 1024
FORMS_AT_MOST, NODES_AT_MOST = 32, 256
"""Of so many specs it is kept what they are on so many nodes each."""

_encode = msgspec.json.Encoder().encode


class WorkedSpec(msgspec.Struct, frozen=True):
    """A spec with its defaults. `faults` in the document of a pod; `qos`: as in its status."""

    spec: Json
    faults: tuple[DocumentError, ...]
    qos: str


def work_out(spec: Json) -> WorkedSpec:
    """What becomes of the spec that is sent. Raises DocumentError when a field has the wrong type."""
    return _work_out(_encode(spec))


def shared(spec: Json) -> Json:
    """The spec that all pods have which have an equal one."""
    kept: Json = _shared(_encode(spec))
    return kept


def on_node(spec: Json, node: str) -> Json:
    """The spec of a pod that is given that node: shared, too."""
    known = _on_nodes.get(id(spec), NOT_KNOWN)[1]
    if known is None:
        known = _on_nodes.put(spec, {})
    found = known.get(node)
    if found is None:
        if len(known) >= NODES_AT_MOST:
            del known[next(iter(known))]
        found = known[node] = shared({**spec, "nodeName": node})
    return found


_on_nodes: ByIdentity[dict[str, Json]] = ByIdentity(FORMS_AT_MOST)


@lru_cache(maxsize=SPECS_AT_MOST)
def _work_out(text: bytes) -> WorkedSpec:
    defaulted = default_pod(from_builtins({"spec": msgspec.json.decode(text)}, Pod))
    spec: Json = to_builtins(defaulted)["spec"]
    return WorkedSpec(shared(spec), validate_spec(defaulted.spec), str(compute_qos_class(defaulted.spec)))


@lru_cache(maxsize=SPECS_AT_MOST)
def _shared(text: bytes) -> Any:
    return msgspec.json.decode(text)
