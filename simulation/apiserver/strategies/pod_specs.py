"""Specs of pods with results that depend on them, each kept once: pods of one template share one spec.

The defaults, the faults and the QoS class of a spec depend on its content alone. A shared spec is replaced, never
changed. The caches are bounded and keep the newest. Pure.
"""

from __future__ import annotations

import re

import msgspec

from config.caches import MIB, KeptBytes
from config.documents.codec import from_builtins, to_builtins
from config.objects import Pod
from config.pods.defaults import default_pod
from config.pods.identity import compute_qos_class
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.engine import causes_of_type
from simulation.apiserver.schemas.go_types import check_types
from simulation.apiserver.status import Json
from simulation.apiserver.store.by_identity import ByIdentity, in_memory_bytes

SPECS_BYTES, SPEC_BYTES = 16 * MIB, MIB

_worked: ByIdentity[WorkedSpec] = ByIdentity(SPECS_BYTES, SPEC_BYTES)
"""What is known of a shared spec, which comes again at the next place of the pipeline."""
_judged: ByIdentity[tuple[Cause, ...]] = ByIdentity(SPECS_BYTES, SPEC_BYTES)
_TOKEN = b'"kube-api-access-"'
_DRAWN = re.compile(rb'"kube-api-access-[a-z0-9]{5}"')
"""The volume with the token of a pod has a drawn name, by which pods of one template differ."""
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_encode = msgspec.json.Encoder().encode


class WorkedSpec(msgspec.Struct, frozen=True):
    """A spec with its defaults. `qos`: as in its status."""

    spec: Json
    qos: str


def work_out(spec: Json) -> WorkedSpec:
    """Default a spec. Raises DocumentError or GoTypeError when a field has the wrong type."""
    worked = _worked.get(spec)
    if worked is None:
        text = _encode(spec)
        try:
            worked = _worked_texts[text]
        except KeyError:
            worked = _worked_texts.keep(text, _work_out(text), in_memory_bytes(len(text)))
        _worked.put(worked.spec, worked)
    return worked


def causes_of_spec(spec: Json) -> tuple[Cause, ...]:
    """The faults of a complete spec of a pod."""
    found = _judged.get(spec)
    if found is None:
        text = _DRAWN.sub(_TOKEN, _encode(spec))
        try:
            found = _judged_texts[text]
        except KeyError:
            found = tuple(causes_of_type("Pod", {"kind": "Pod", "spec": spec}))
            if not found:
                _judged_texts.keep(text, found, in_memory_bytes(len(text)))
        _judged.put(spec, found)
    return found


def on_node(spec: Json, node: str) -> Json:
    """The spec of a pod that is bound to that node."""
    return _shared(_encode({**spec, "nodeName": node}))


def _work_out(text: bytes) -> WorkedSpec:
    given = {"spec": msgspec.json.decode(text)}
    defaulted = default_pod(from_builtins(given, Pod))
    check_types("v1", "Pod", given)  # Amounts, which a struct keeps as texts.
    spec = _shared(_encode(as_go_writes(to_builtins(defaulted)["spec"])))
    return WorkedSpec(spec, str(compute_qos_class(defaulted.spec)))


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
_judged_texts: KeptBytes[bytes, tuple[Cause, ...]] = KeptBytes(SPECS_BYTES, SPEC_BYTES)
_specs: KeptBytes[bytes, Json] = KeptBytes(SPECS_BYTES, SPEC_BYTES)
