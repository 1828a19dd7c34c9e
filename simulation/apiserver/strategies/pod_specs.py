"""Specs of pods with results that depend on them, each kept once: pods of one template share one spec.

The defaults, the faults and the QoS class of a spec depend on its content alone. A shared spec is replaced, never
changed. The caches are bounded and keep the newest. Pure.
"""

from __future__ import annotations

import msgspec

from config.caches import MIB, KeptBytes
from config.documents.codec import DocumentError, from_builtins, to_builtins
from config.objects import Pod
from config.pods.defaults import default_pod
from config.pods.identity import compute_qos_class
from config.validation.pod import validate_spec
from simulation.apiserver.status import Json
from simulation.apiserver.store.by_identity import ByIdentity, in_memory_bytes

SPECS_BYTES, SPEC_BYTES = 16 * MIB, MIB

_worked: ByIdentity[WorkedSpec] = ByIdentity(SPECS_BYTES, SPEC_BYTES)
"""What is known of a shared spec, which comes again at the next place of the pipeline."""
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_encode = msgspec.json.Encoder().encode


class WorkedSpec(msgspec.Struct, frozen=True):
    """A spec with its defaults. `faults` have paths in the pod's document. `qos`: as in its status."""

    spec: Json
    faults: tuple[DocumentError, ...]
    qos: str


def work_out(spec: Json) -> WorkedSpec:
    """Default and check a spec. Raises DocumentError when a field has the wrong type."""
    worked = _worked.get(spec)
    if worked is None:
        text = _encode(spec)
        try:
            worked = _worked_texts[text]
        except KeyError:
            worked = _worked_texts.keep(text, _work_out(text), in_memory_bytes(len(text)))
        _worked.put(worked.spec, worked)
    return worked


def on_node(spec: Json, node: str) -> Json:
    """The spec of a pod that is bound to that node."""
    return _shared(_encode({**spec, "nodeName": node}))


def _work_out(text: bytes) -> WorkedSpec:
    defaulted = default_pod(from_builtins({"spec": msgspec.json.decode(text)}, Pod))
    spec = _shared(_encode(as_go_writes(to_builtins(defaulted)["spec"])))
    faults = validate_spec(defaulted.spec)
    return WorkedSpec(spec, faults, "" if faults else str(compute_qos_class(defaulted.spec)))


def as_go_writes(spec: Json) -> Json:
    """The spec with the fields that a kube-apiserver never leaves out: `resources` of each container."""
    changed = {}
    for field in _CONTAINERS:
        if spec.get(field):
            changed[field] = [one if "resources" in one else {**one, "resources": {}} for one in spec[field]]
    return {**spec, **changed} if changed else spec


def _shared(text: bytes) -> Json:
    try:
        return _specs[text]
    except KeyError:
        return _specs.keep(text, msgspec.json.decode(text), in_memory_bytes(len(text)))


_worked_texts: KeptBytes[bytes, WorkedSpec] = KeptBytes(SPECS_BYTES, SPEC_BYTES)
_specs: KeptBytes[bytes, Json] = KeptBytes(SPECS_BYTES, SPEC_BYTES)
