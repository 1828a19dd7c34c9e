"""The greedy pod of a field: as large as the API server accepts.

The largest object that a cluster keeps has 1.5 MiB. The size is that of the pod as it is stored, with its defaults, in
JSON. Fields are left out by rule: if no template is accepted (`recipes`), or if it stays small. Of several fields with
one template, or of one text in several kinds of containers, only the first counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect as types

from actors.kernel import SimulatedDispatcher
from simulation.apiserver.requests.answers import Answer, JsonAnswer, ObjectAnswer
from simulation.apiserver.requests.bodies import MERGE
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.greedy.fields import LARGE, fields_of, greedy_fields, type_at
from simulation.greedy.recipes import LeftOutError, template_of
from simulation.greedy.templates import Json, rendered

OBJECT_BYTES_AT_MOST = 3 * 2**19
"""What etcd takes by default: 1.5 MiB."""
LARGE_BYTES = 2**14
"""A field whose pod stays smaller cannot be made large."""
VERSION_BYTES = 40
"""Of the resourceVersion, which a dry run does not have."""
_PODS = "/api/v1/namespaces/default/pods"
LATER = "ephemeralContainers"
"""A part of the spec that no pod may be created with."""
_NOT_KEPT = (("dryRun", "All"), ("fieldValidation", "Strict"))


class GreedyPod(msgspec.Struct, frozen=True):
    """`size`: items, entries or characters. `document`: the whole pod, whose name is to be replaced."""

    field: str
    size: int
    document: Json


@lru_cache(maxsize=8)
def greedy_pod(
    field: str, bytes_at_most: int = OBJECT_BYTES_AT_MOST, annotations: tuple[tuple[str, str], ...] = ()
) -> GreedyPod:
    """The largest pod of a field, with these annotations besides. Nobody changes it. Raises LeftOutError."""
    template = template_of(field)
    refusal = ""

    def pod(size: int) -> Json:
        document = _mounted(rendered(template, size))
        metadata = document["metadata"]
        return {
            **document,
            "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **dict(annotations)}},
        }

    def stored_bytes(size: int) -> int | None:
        nonlocal refusal
        answer = _asked(pod(size))
        if isinstance(answer, JsonAnswer) and answer.code >= 300:
            refusal = str(answer.value.get("message"))
            return None
        assert isinstance(answer, JsonAnswer | ObjectAnswer)
        return len(answer.body()) + VERSION_BYTES

    def fits(size: int) -> bool:
        stored = stored_bytes(size)
        return stored is not None and stored <= bytes_at_most

    one, more = stored_bytes(1), stored_bytes(10)
    if one is None or more is None:
        raise LeftOutError(refusal)
    if more > one and not fits(guess := max(10, (bytes_at_most - one) * 9 // (more - one))):
        guess = _largest(fits, guess)
    elif more == one:
        raise LeftOutError(f"the API server keeps nothing of {field}")
    if (stored_bytes(guess) or 0) < min(LARGE_BYTES, bytes_at_most // 2):
        raise LeftOutError(refusal or f"{field} stays small")
    return GreedyPod(field, guess, pod(guess))


def _asked(document: Json) -> Answer:
    """What the server would answer. Ephemeral containers come with an update, so the pod is made for them."""
    ask, spec = _server().handle, document["spec"]
    if document["metadata"].get("resourceVersion"):  # a dry run takes it, and the store refuses it
        return ask(ApiRequest("POST", _PODS, _NOT_KEPT[1:], msgspec.json.encode(document)))
    if not spec.get(LATER):
        return ask(ApiRequest("POST", _PODS, _NOT_KEPT, msgspec.json.encode(document)))
    first = {**document, "spec": {name: part for name, part in spec.items() if name != LATER}}
    made = ask(ApiRequest("POST", _PODS, (), msgspec.json.encode(first)))
    if isinstance(made, JsonAnswer) and made.code >= 300:
        return made
    pod, change = f"{_PODS}/{document['metadata']['name']}", msgspec.json.encode({"spec": {LATER: spec[LATER]}})
    answer = ask(ApiRequest("PATCH", f"{pod}/{LATER.lower()}", _NOT_KEPT, change, MERGE))
    ask(ApiRequest("DELETE", pod, (("gracePeriodSeconds", "0"),)))
    return answer


@lru_cache(maxsize=1)
def _server() -> ApiServer:
    """An API server that is only asked."""
    return ApiServer(SimulatedDispatcher(0))


def large_fields(bytes_at_most: int = OBJECT_BYTES_AT_MOST) -> Iterator[str]:
    """The fields with a greedy pod, each found when it is asked for."""
    templates: set[bytes] = set()
    texts: set[tuple[type[Any], str]] = set()
    for field in greedy_fields():
        try:
            template = msgspec.json.encode(template_of(field), enc_hook=repr)
            text = _text_of(field)
            if template in templates or text in texts:
                continue
            greedy_pod(field, bytes_at_most)
        except LeftOutError:
            continue
        templates.add(template)
        if text is not None:
            texts.add(text)
        yield field


def _text_of(field: str) -> tuple[type[Any], str] | None:
    """The structure and the field of a text that grows; None where something else does."""
    owner, _, name = field.rpartition(".")
    if not name.endswith(LARGE) or name.endswith((f"]{LARGE}", f"}}{LARGE}")):
        return None
    kind, name = type_at(owner), name.removesuffix(LARGE)
    return (kind.cls, name) if isinstance(kind, types.StructType) and name in fields_of(kind) else None


def drawn_field(draw: Callable[[int], int], bytes_at_most: int = OBJECT_BYTES_AT_MOST) -> str:
    """One of the fields with a greedy pod. `draw` gives a number below the one that it gets."""
    fields = greedy_fields()
    while True:
        field = fields[draw(len(fields))]
        with suppress(LeftOutError):
            return greedy_pod(field, bytes_at_most).field


def _mounted(pod: Json) -> Json:
    """The pod with each of its volumes mounted, since an agent makes no others."""
    container = pod["spec"]["containers"][0]
    mounted = {mount["name"] for mount in container.get("volumeMounts", ())} | {
        device["name"] for device in container.get("volumeDevices", ())
    }
    mounts = [
        {"name": volume["name"], "mountPath": f"/volumes/{volume['name']}"}
        for volume in pod["spec"]["volumes"]
        if volume["name"] not in mounted
    ]
    if mounts:
        container["volumeMounts"] = [*container.get("volumeMounts", ()), *mounts]
    return pod


def _largest(fits: Callable[[int], bool], too_large: int) -> int:
    """The largest number below one that does not fit, where all below one that fits do."""
    low, high = 1, too_large
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
