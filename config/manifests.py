"""Manifests of static pods: from the bytes of a file or a URL to this node's pods (spec 1.1, 1.2).

Owns the way from text to a pod fit for the node. It reads YAML or JSON: a Pod, a PodList or a List. It sets defaults
and the identity (UID, name, namespace, node), validates, and refuses a static pod that needs the API server. Pure:
reading files and URLs is done elsewhere. Nothing is raised. Every fault of a manifest comes back as a `ManifestError`;
the pods of a manifest with a fault are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from config.credentials.masked_urls import masked_url
from config.documents.codec import DocumentError, Faults, from_builtins, to_builtins, unknown_paths
from config.documents.places import DocumentPlace
from config.documents.text import Document, read_documents
from config.documents.walk import known_fields, path_text
from config.objects import Pod, PodStatus, Toleration
from config.pods.defaults import default_pod
from config.pods.identity import CONFIG_HASH, DEFAULT_NAMESPACE, SOURCE_FILE, SOURCE_HTTP
from config.pods.references import check_api_references
from config.pods.volume_sources import unknown_source_words, unknown_sources
from config.validation.pod import validate_pod
from config.values.fnv import fnv1a_128
from config.values.nearest import did_you_mean

PODS_AT_MOST = 10_000
"""Limit of pods in one manifest. A pod takes more memory than its text."""

_LISTS = ("PodList", "List")
_ALWAYS_TOLERATED = Toleration(operator="Exists", effect="NoExecute")


class ManifestError(ValueError):
    """One fault of a manifest: the file or URL, the line and path, why, and what to do.

    The line may be unknown.
    """

    def __init__(self, origin: str, path: str, reason: str, hint: str = "", line: int | None = None) -> None:
        super().__init__(origin, path, reason, hint, line)
        self.origin = origin
        self.path = path
        self.reason = reason
        self.hint = hint
        self.line = line

    def __str__(self) -> str:
        where = self.origin if self.line is None else f"{self.origin}:{self.line}"
        return f"{where}: {self.path}: {self.reason}" + (f"; {self.hint}" if self.hint else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ManifestError) and other.args == self.args

    def __hash__(self) -> int:
        return hash(self.args)


class Origin(msgspec.Struct, frozen=True):
    """The origin of a manifest: `source` is "file", "http" or "http-push".

    `location`: the path, or the URL.
    """

    source: str
    location: str

    @staticmethod
    def file(path: str) -> Origin:
        return Origin(SOURCE_FILE, path)

    @staticmethod
    def url(url: str) -> Origin:
        return Origin(SOURCE_HTTP, url)


class ReadManifest(msgspec.Struct, frozen=True):
    """The pods of a manifest, or else its errors.

    Warnings name fields that are kept but not known here, and keys that are given twice: the last one counts.

    `names`: of the pods in it, where it has errors: `namespace/name` as written, and as far as they can be read.
    `given`: the UIDs that the manifest itself gives its pods.
    """

    pods: tuple[Pod, ...] = ()
    errors: tuple[ManifestError, ...] = ()
    warnings: tuple[ManifestError, ...] = ()
    names: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()


def read_manifest(data: bytes, origin: Origin, node_name: str, *, prevent_api_references: bool = True) -> ReadManifest:
    """The static pods in `data` for the node of that name.

    `prevent_api_references` is the feature gate PreventStaticPodAPIReferences.
    """
    try:
        document = _only_document(data)
    except DocumentError as error:
        return ReadManifest(errors=_located(error.faults, origin, None))
    faults = Faults(document.faults)
    pods: list[Pod] = []
    given: set[str] = set()
    warnings = Faults(document.repeated)
    if not faults:
        for path, value in _pods_in(document.value, faults):
            if faults.full:
                break
            pod = _decode(path, value, faults)
            if pod is None:
                continue
            unknown = unknown_sources(pod)
            faults += _unknown_volumes(unknown, path)
            if pod.metadata.uid:
                given.add(pod.metadata.uid)
            pod = static_pod(pod, origin, node_name)
            faults += _faults_of(pod, path, prevent_api_references)
            pods.append(pod)
            warnings += _unknown_fields(pod, path, unknown)
        _check_distinct(pods, faults)
    errors = _located(faults, origin, document)
    names = _names_in(document.value) if errors else ()
    return ReadManifest(
        () if errors else tuple(pods), errors, _located(warnings, origin, document), names, frozenset(given)
    )


def split_manifest(data: bytes) -> tuple[bytes, ...]:
    """Each pod of a valid manifest as its own manifest, in JSON.

    Equal pods give equal bytes.
    """
    value = _only_document(data).value
    pods = [item for _, item in _pods_in(value, Faults())]
    return tuple(
        msgspec.json.encode({**item, "apiVersion": "v1", "kind": "Pod"}, order="sorted")
        for item in pods
        if isinstance(item, dict)
    )


def static_pod(pod: Pod, origin: Origin, node_name: str) -> Pod:
    """The pod as this node runs it: defaults filled in, and with the identity of spec 1.2.

    The UID comes from what the person wrote, the node and the origin. Defaults are left out: they may change with the
    version of the agent, and pods must not restart for that. A missing name stays missing; validation reports it.
    """
    metadata = pod.metadata
    uid = metadata.uid or static_pod_uid(pod, origin, node_name)
    metadata = replace(
        metadata,
        uid=uid,
        name=f"{metadata.name}-{node_name.lower()}" if metadata.name else "",
        namespace=metadata.namespace or DEFAULT_NAMESPACE,
        annotations={**metadata.annotations, CONFIG_HASH: uid},
    )
    pod = default_pod(replace(pod, metadata=metadata))
    tolerations = pod.spec.tolerations
    if origin.source == SOURCE_FILE and _ALWAYS_TOLERATED not in tolerations:
        tolerations = (*tolerations, _ALWAYS_TOLERATED)
    return replace(
        pod,
        spec=replace(pod.spec, node_name=node_name, tolerations=tolerations),
        status=replace(pod.status or PodStatus(), phase="Pending"),
    )


def static_pod_uid(pod: Pod, origin: Origin, node_name: str) -> str:
    """32 hexadecimal digits.

    The same for the same manifest at the same place, whatever the order of its fields.
    """
    text = msgspec.json.encode(to_builtins(pod), order="sorted")
    if origin.source == SOURCE_FILE:
        return fnv1a_128(text + f"host:{node_name}file:{origin.location}".encode())
    return fnv1a_128(text + f"url:{origin.location}".encode())


def _only_document(data: bytes) -> Document:
    documents = read_documents(data)
    if not documents:
        raise DocumentError("$", "it is empty", "write a Pod into it, or remove it")
    if len(documents) > 1:
        kinds = ", ".join(str(doc.value.get("kind", "?"))[:40] for doc in documents[:9] if isinstance(doc.value, dict))
        raise DocumentError(
            "$",
            f"it has {len(documents)} documents ({kinds}), but only one can be read",
            "put each into a file of its own, or all into the items of one v1 List",
        )
    return documents[0]


def _pods_in(value: object, faults: Faults) -> Iterable[tuple[str, object]]:
    """Every pod of the document, with its path; what is no pod and no list of pods is a fault."""
    if not isinstance(value, dict):
        faults.append(DocumentError("$", "it is not an object of the API", "write apiVersion, kind, metadata and spec"))
        return ()
    version, kind = value.get("apiVersion"), value.get("kind")
    for field, given, expected in (("apiVersion", version, "v1"), ("kind", kind, "Pod")):
        if given is None:
            faults.append(DocumentError(f"$.{field}", "is required", f"write {field}: {expected}"))
    if version is None or kind is None:
        return ()
    if kind == "Pod" and version == "v1":
        return (("$", value),)
    if kind not in _LISTS or version != "v1":
        path, hint = ("$.kind", "a node runs v1 Pod, PodList, or List of pods")
        faults.append(DocumentError(path, f"{version} {kind} cannot be run by a node", hint))
        return ()
    items = value.get("items") or []
    if not isinstance(items, list):
        faults.append(DocumentError("$.items", "must be a list", "start each pod with a dash"))
        return ()
    if len(items) > PODS_AT_MOST:
        faults.append(DocumentError("$.items", f"must have at most {PODS_AT_MOST} pods, not {len(items)}"))
        return ()
    return [(f"$.items[{index}]", item) for index, item in enumerate(items) if _is_pod(kind, index, item, faults)]


def _names_in(value: object) -> tuple[str, ...]:
    """`namespace/name` of whatever looks like a pod."""
    items = value.get("items", [value]) if isinstance(value, dict) else []
    found = []
    for item in items[:PODS_AT_MOST] if isinstance(items, list) else ():
        metadata = item.get("metadata") if isinstance(item, dict) else None
        if isinstance(metadata, dict) and isinstance(name := metadata.get("name"), str) and name:
            found.append(f"{metadata.get('namespace') or DEFAULT_NAMESPACE}/{name}")
    return tuple(found)


def _is_pod(list_kind: str, index: int, item: Any, faults: Faults) -> bool:
    """Whether an item is a pod. Items of a PodList need no kind; those of a List do."""
    kind = item.get("kind") if isinstance(item, dict) else "Pod"
    if kind == "Pod" or (kind is None and list_kind == "PodList"):
        return True
    reason = "is required" if kind is None else f"a {kind} cannot be run by a node"
    faults.append(DocumentError(f"$.items[{index}].kind", reason, "write kind: Pod"))
    return False


def _decode(path: str, value: object, faults: Faults) -> Pod | None:
    try:
        return from_builtins(value, Pod)
    except DocumentError as error:
        faults += (DocumentError(path + fault.path[1:], fault.reason, fault.hint) for fault in error.faults)
        return None


def _faults_of(pod: Pod, path: str, prevent_api_references: bool) -> tuple[DocumentError, ...]:
    references = DocumentPlace(f"{path}.spec")
    check_api_references(references, pod.spec, every=prevent_api_references)
    return (*_without_copies(validate_pod(pod, path)), *references.faults)


def _without_copies(faults: Iterable[DocumentError]) -> Iterator[DocumentError]:
    """Without the faults of requests that nobody wrote, but the defaults took from the limits."""
    told: set[tuple[str, str]] = set()
    for fault in faults:
        if (fault.path.replace(".resources.requests", ".resources.limits"), fault.reason) not in told:
            told.add((fault.path, fault.reason))
            yield fault


def _unknown_volumes(unknown: Mapping[int, str], path: str) -> Iterator[DocumentError]:
    for index, key in unknown.items():
        yield DocumentError(f"{path}.spec.volumes[{index}]{path_text((key,))[1:]}", *unknown_source_words(key))


def _unknown_fields(pod: Pod, path: str, unknown_volumes: Mapping[int, str]) -> Iterator[DocumentError]:
    """A warning for each unknown field, except unknown kinds of volumes: these are faults elsewhere."""
    for steps in unknown_paths(pod):
        index = steps[2][0] if len(steps) == 4 and steps[1] == "volumes" and isinstance(steps[2], tuple) else None
        if index is not None and unknown_volumes.get(index) == steps[3]:
            continue
        hint = did_you_mean(str(steps[-1]), known_fields(Pod, steps), "check it")
        reason = "this field is not known here; it is kept and does nothing"
        yield DocumentError(path + path_text(steps)[1:], reason, hint)


def _check_distinct(pods: list[Pod], faults: Faults) -> None:
    """Two pods of one list under one name would end each other."""
    seen: set[tuple[str, str]] = set()
    for index, pod in enumerate(pods):
        key = (pod.metadata.namespace, pod.metadata.name)
        if key in seen:
            faults.append(DocumentError(f"$.items[{index}].metadata.name", "is the name of another pod of the list"))
        seen.add(key)


def _located(faults: Iterable[DocumentError], origin: Origin, document: Document | None) -> tuple[ManifestError, ...]:
    return tuple(
        ManifestError(
            origin.location if origin.source == SOURCE_FILE else masked_url(origin.location),
            fault.path,
            fault.reason,
            fault.hint,
            document.line_of(fault.path) if document is not None else None,
        )
        for fault in faults
    )
