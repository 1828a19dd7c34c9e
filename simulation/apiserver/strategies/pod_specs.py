"""Specs of pods and of their templates, with results that depend on them.

Each is kept once: pods of one template share one spec, and those of them on one node share it with its name. The
defaults, the faults and the QoS class of a spec depend on its content alone. A shared spec is replaced, never changed.
The caches are bounded and keep the newest. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import intern

import msgspec

from config.caches import KIB, MIB, KeptBytes
from config.documents.codec import from_builtins, to_builtins
from config.objects import Pod
from config.pods.defaults import default_pod, default_spec
from config.pods.identity import compute_qos_class
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.engine import causes_of_type
from simulation.apiserver.schemas.go_types import check_types, with_amounts_as_text
from simulation.apiserver.status import Json
from simulation.apiserver.store.by_identity import ByIdentity, in_memory_bytes

SPECS_BYTES, SPEC_BYTES = 16 * MIB, MIB
BOUND_BYTES = KIB
"""What the spec of a bound pod takes, besides its text and what it shares with the spec before."""

_judged: ByIdentity[tuple[Cause, ...]] = ByIdentity(SPECS_BYTES, SPEC_BYTES)
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_encode = msgspec.json.Encoder().encode


class WorkedSpec(msgspec.Struct, frozen=True):
    """A spec with its defaults. `qos`: as in its status."""

    spec: Json
    qos: str


class _Works:
    """Defaults specs."""

    def __init__(self, default: Callable[[Pod], Pod]) -> None:
        self._default = default
        self._texts: KeptBytes[bytes, WorkedSpec] = KeptBytes(SPECS_BYTES, SPEC_BYTES)
        self._shared: ByIdentity[WorkedSpec] = ByIdentity(SPECS_BYTES, SPEC_BYTES)
        """What is known of a shared spec, which comes again at the next place of the pipeline."""

    def __call__(self, spec: Json) -> WorkedSpec:
        worked = self._shared.get(spec)
        if worked is None:
            text = _encode(spec)
            try:
                worked = self._texts[text]
            except KeyError:
                worked = self._texts.keep(text, self._work_out(text), in_memory_bytes(len(text)))
            self._shared.put(worked.spec, worked)
        return worked

    def _work_out(self, text: bytes) -> WorkedSpec:
        given = {"spec": msgspec.json.decode(text)}
        defaulted = self._default(from_builtins(given, Pod))
        check_types("v1", "Pod", given)  # Amounts, which a struct keeps as texts.
        complete = with_amounts_as_text("v1", "Pod", to_builtins(defaulted))["spec"]
        spec = _shared(_encode(_as_go_writes(complete)))
        return WorkedSpec(spec, str(compute_qos_class(defaulted.spec)))


def _default_template(pod: Pod) -> Pod:
    """A pod keeps the unknown fields of its spec, so the pod is defaulted."""
    return msgspec.structs.replace(pod, spec=default_spec(pod.spec))


work_out = _Works(default_pod)
"""Default the spec of a pod. Raises DocumentError or GoTypeError when a field has the wrong type."""
work_out_template = _Works(_default_template)
"""Default the spec of a pod template, as `work_out`."""


def causes_of_spec(spec: Json) -> tuple[Cause, ...]:
    """The faults of a complete spec of a pod."""
    found = _judged.get(spec)
    if found is None:
        text = _encode(spec)
        try:
            found = _judged_texts[text]
        except KeyError:
            found = tuple(causes_of_type("Pod", {"kind": "Pod", "spec": spec}))
            if not found:
                _judged_texts.keep(text, found, in_memory_bytes(len(text)))
        _judged.put(spec, found)
    return found


def on_node(spec: Json, node: str) -> Json:
    """The spec of a pod that is bound to that node. It shares its parts with the spec before."""
    bound = {**spec, "nodeName": intern(node)}
    text = _encode(bound)
    try:
        return _bound[text]
    except KeyError:
        return _bound.keep(text, bound, 2 * len(text) + BOUND_BYTES)


def _as_go_writes(spec: Json) -> Json:
    """The spec with the fields that a kube-apiserver never leaves out: `resources` of each container.

    It writes the name of the service account twice, also under its old name.
    """
    changed: Json = {}
    for field in _CONTAINERS:
        if spec.get(field):
            changed[field] = [one if "resources" in one else {**one, "resources": {}} for one in spec[field]]
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        changed |= {"serviceAccountName": account, "serviceAccount": account}
    return {**spec, **changed} if changed else spec


def _shared(text: bytes) -> Json:
    try:
        return _specs[text]
    except KeyError:
        return _specs.keep(text, msgspec.json.decode(text), in_memory_bytes(len(text)))


_judged_texts: KeptBytes[bytes, tuple[Cause, ...]] = KeptBytes(SPECS_BYTES, SPEC_BYTES)
_specs: KeptBytes[bytes, Json] = KeptBytes(SPECS_BYTES, SPEC_BYTES)
_bound: KeptBytes[bytes, Json] = KeptBytes(SPECS_BYTES, SPEC_BYTES)
"""One template has as many as there are nodes."""
