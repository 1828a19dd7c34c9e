"""The file of `actorlet sweep`: which operator, in which cluster, and what a user does step by step.

After each step the operator comes to rest. Paths are relative to the file. Reading it finds every mistake that needs no
cluster; `play_step` does one step in a running one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from config.documents.text import read_documents
from simulation.apiserver.requests.bodies import MERGE
from simulation.apiserver.requests.calls import ADMIN
from simulation.apiserver.server import ApiServer
from simulation.cluster.applied import collection_path, no_such_kind, objects_in
from simulation.cluster.orders import OrderError, ns_of
from simulation.controllers.store_follower import ask
from simulation.scenarios.mistakes import mistakes

NODES_AT_MOST = 100
Words = Annotated[tuple[str, ...], Meta(min_length=1)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    pass


class Patch(_Part, frozen=True):
    """A merge patch of one object."""

    api_version: str
    kind: str
    name: str
    merge: dict[str, Any]
    namespace: str = "default"


class Step(_Part, frozen=True):
    """Manifests to apply, or to delete; or a patch; or a command, which has an admin's `KUBECONFIG`."""

    apply: str = ""
    delete: str = ""
    patch: Patch | None = None
    run: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """What the step does, in a few words."""
        if self.patch is not None:
            return f"patch {self.patch.kind} {self.patch.name}"
        return f"apply {self.apply}" if self.apply else f"delete {self.delete}" if self.delete else " ".join(self.run)


class SweepFile(_Part, frozen=True):
    """A whole file. `still` is real time: longer than the operator ever sleeps between two tries."""

    command: Words
    steps: Annotated[tuple[Step, ...], Meta(min_length=1)]
    before: tuple[str, ...] = ()
    """Manifests that are there before the operator starts: definitions, accounts, roles."""
    environment: Mapping[str, str] = {}
    user: str = "operator"
    groups: tuple[str, ...] = ()
    nodes: Annotated[int, Meta(ge=1, le=NODES_AT_MOST)] = 2
    rbac: bool = False
    quiet: str = "15s"
    still: str = "300ms"
    within: str = "20m"
    controller_manager: str = ""
    directory: str = "."


def read_sweep_file(text: bytes, directory: str) -> SweepFile:
    """The file in `directory`. Raises OrderError with all that is wrong."""
    documents = list(read_documents(text))
    if len(documents) != 1:
        raise OrderError(f"it has {len(documents)} documents, and must have one")
    (document,) = documents
    found = list(document.faults) or list(mistakes(SweepFile, document.value))
    if found:
        raise OrderError("\n".join(f"line {document.line_of(fault.path) or 1}: {fault}" for fault in found))
    read = msgspec.convert(document.value, SweepFile)
    faults = [fault for step in read.steps for fault in _faults_of(step)]
    for name in ("quiet", "still", "within"):
        ns_of(getattr(read, name))
    if faults:
        raise OrderError("\n".join(faults))
    return _at_home(read, directory)


def _faults_of(step: Step) -> list[str]:
    said = [name for name in ("apply", "delete", "patch", "run") if getattr(step, name)]
    return [] if len(said) == 1 else [f"a step is one of apply, delete, patch and run, and this is {said or 'none'}"]


def _at_home(read: SweepFile, directory: str) -> SweepFile:
    """The file with whole paths."""

    def whole(path: str) -> str:
        return os.path.abspath(os.path.join(directory, path)) if path else ""

    steps = tuple(
        msgspec.structs.replace(step, apply=whole(step.apply), delete=whole(step.delete)) for step in read.steps
    )
    return msgspec.structs.replace(
        read,
        steps=steps,
        before=tuple(map(whole, read.before)),
        directory=whole(read.directory),
        controller_manager=whole(read.controller_manager),
    )


def delete_objects(server: ApiServer, path: str) -> None:
    """Delete the objects of the manifests, the last first. Raises OrderError."""
    for place, value in reversed(objects_in(path)):
        metadata = value.get("metadata") or {}
        refusal = _ask(server, "DELETE", value, metadata.get("name", ""), metadata.get("namespace") or "default")
        if refusal:
            raise OrderError(f"{place}: {refusal}")


def patch_object(server: ApiServer, patch: Patch) -> None:
    """Raises OrderError."""
    value = {"apiVersion": patch.api_version, "kind": patch.kind}
    refusal = _ask(server, "PATCH", value, patch.name, patch.namespace, patch.merge)
    if refusal:
        raise OrderError(f"patch of {patch.kind} {patch.name}: {refusal}")


def _ask(
    server: ApiServer,
    method: str,
    value: Mapping[str, Any],
    name: str,
    namespace: str,
    body: dict[str, Any] | None = None,
) -> str:
    kind = (value["apiVersion"], value["kind"])
    resource = next((one for one in server.served if (one.api_version, one.kind) == kind and one.stored), None)
    if resource is None:
        return no_such_kind(dict(value))
    path = f"{collection_path(resource, namespace)}/{name}"
    return ask(server, ADMIN, method, path, body, MERGE) if body is not None else ask(server, ADMIN, method, path)
