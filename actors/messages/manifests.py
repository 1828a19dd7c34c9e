"""Messages about manifests that are handed to the node: from their senders, and back to them."""

from __future__ import annotations

import enum

import msgspec

from actors.kernel import Message
from actors.messages.pods import SourceProblem


class TakeManifests(Message, frozen=True):
    """Edge -> PushSourceActor (ask): a manifest with one pod or several, to be run from now on.

    Answered with `ManifestsTaken` or `ManifestsRefused`.
    """

    content: bytes


class WithdrawManifest(Message, frozen=True):
    """Edge -> PushSourceActor (ask): this pod is no longer desired.

    Namespace and name are those in the pushed manifest.

    Answered with `ManifestsTaken`, which is empty when there is no such manifest, or with `ManifestsRefused`.
    """

    namespace: str
    name: str


class ListManifests(Message, frozen=True):
    """Edge -> PushSourceActor (ask): list the manifests that are held.

    The answer is `tuple[HeldManifest, ...]` by namespace and name.
    """


class ManifestChange(enum.StrEnum):
    """The outcome for a manifest."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    WITHDRAWN = "withdrawn"


class TakenManifest(msgspec.Struct, frozen=True):
    """One pod of a manifest. `pod` and `uid`: its name and UID on the node."""

    namespace: str
    name: str
    pod: str
    uid: str
    change: ManifestChange


class HeldManifest(msgspec.Struct, frozen=True):
    """A manifest of one pod, as JSON."""

    namespace: str
    name: str
    content: bytes


class ManifestsTaken(msgspec.Struct, frozen=True):
    """All of it is on the disk, and will be there after a restart."""

    pods: tuple[TakenManifest, ...]


class ManifestsRefused(msgspec.Struct, frozen=True):
    """No part was taken. `unable`: the fault is in the node, not in the manifest."""

    problems: tuple[SourceProblem, ...]
    unable: bool = False
