"""`PullBook`: who pulled which image, as `ImagePullActor` knows it and the files have it (spec 6.4).

The record of that actor. It is a separate object that outlives a failure of the actor, as the leases do. Nothing in it
waits or fails: each method gives the changes of the files, which the actor makes in order. Pod workers read it.

An intent is written before a pull, and removed when the pull has ended and its record is written. The agent or the
connection may die in a pull, which may still succeed; then the intent stays. It goes once a look at the runtime shows
the image, or once a look long afterwards does not. A found image then gets a record that opens it to nobody.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import msgspec

from actors.images.access_rules import Access, Shown, access_of
from actors.images.gc_rules import forms
from actors.images.pull_rules import AccessPolicy, KnownPulls, is_unreadable, open_to_all
from actors.model.pull_records import (
    Grants,
    PulledRecord,
    PullSecret,
    RecordError,
    decode_intent,
    decode_record,
    encode_intent,
    encode_record,
    file_name,
    with_grants,
)
from config.values.image_names import InvalidImageNameError, short_form, with_default_tag
from runtime.cri.messages import Image
from runtime.state.pull_record_files import PULLED, PULLING, FileChange, PullFiles

GIVE_UP_NS = 600 * 10**9
"""After this long, a pull whose end is unknown has ended without an image if none is there."""

Changes = tuple[FileChange, ...]


class _Intent(msgspec.Struct):
    """`flights`: pulls under way.

    `left`: one has ended at `since_ns`, and the runtime may still bring the image.

    `names`: what its files say. A kubelet writes the name as the pod has it, perhaps without a tag.
    """

    flights: int
    since_ns: int
    left: bool = False
    names: set[str] = msgspec.field(default_factory=set)

    def removal(self) -> list[FileChange]:
        return [FileChange(PULLING, file_name(name)) for name in sorted(self.names)]


class PullBook:
    """See the module. With a `policy` that keeps no records, every pod may use every image."""

    def __init__(self, policy: AccessPolicy) -> None:
        self.policy = policy
        self._intents: dict[str, _Intent] = {}
        self._records: dict[str, PulledRecord] = {}
        self._at_ns: dict[str, int] = {}
        """When a pull last confirmed a record, monotonic."""
        self._unreadable: set[str] = set()
        self.known = KnownPulls(policy, not policy.keeps_records, self._intents, self._records, self._unreadable)
        """The same values, for pod workers."""

    @property
    def is_loaded(self) -> bool:
        return self.known.is_loaded

    @property
    def intents(self) -> int:
        return sum(len(each.names) for each in self._intents.values())

    @property
    def records(self) -> int:
        return len(self._records) + len(self._unreadable)

    def load(self, files: PullFiles, now_ns: int) -> list[str]:
        """Take what the files say; the problems, for people."""
        problems = list(files.problems)
        self._unreadable.update(files.unreadable)
        for name, content in files.pulling.items():
            try:
                self._left_over(decode_intent(content), now_ns)
            except RecordError as fault:
                problems.append(f"{PULLING}/{name}: {fault}")
        for name, content in files.pulled.items():
            try:
                record = decode_record(content)
                if file_name(record.image_ref) != name:
                    raise RecordError(f"it is about {record.image_ref!r}, whose file is {file_name(record.image_ref)}")
            except RecordError as fault:
                problems.append(f"{PULLED}/{name}: {fault}")
                self._unreadable.add(name)
            else:
                self._records[record.image_ref] = record
                self._at_ns[record.image_ref] = -1
        self.known.is_loaded = True
        return problems

    def _left_over(self, image: str, now_ns: int) -> None:
        """Pods are asked about with a tag."""
        full = image
        with contextlib.suppress(InvalidImageNameError):
            full = with_default_tag(image)
        self._intents.setdefault(full, _Intent(0, now_ns, left=True)).names.add(image)

    # --- pulls ------------------------------------------------------------------------------------------------------

    def intend(self, image: str, named: str, now_ns: int) -> Changes:
        """A pull is about to begin; it may when the changes are on disk. `named`: as the pod has it."""
        if not self.policy.keeps_records:
            return ()
        intent = self._intents.setdefault(image, _Intent(0, now_ns))
        intent.flights += 1
        if named in intent.names and intent.flights > 1:
            return ()
        intent.names.add(named)
        return (FileChange(PULLING, file_name(named), encode_intent(named)),)

    def pulled(self, image: str, image_ref: str, grants: Grants, now_ns: int, time_text: str) -> Changes:
        """A pull has ended well. Without a reference the next look finds out what came."""
        if not self.policy.keeps_records:
            return ()
        if not image_ref:
            return self.ended(image, now_ns, certain=False)
        return (*self._write(image, image_ref, grants, now_ns, time_text), *self.ended(image, now_ns, certain=True))

    def ended(self, image: str, now_ns: int, *, certain: bool) -> Changes:
        """A pull has ended. Not `certain`: the runtime may still bring the image."""
        intent = self._intents.get(image)
        if intent is None:
            return ()
        intent.flights = max(0, intent.flights - 1)
        if not certain:
            intent.left, intent.since_ns = True, now_ns
        if not intent.flights and not intent.left:
            return tuple(self._intents.pop(image).removal())
        return ()

    def forget_flights(self, now_ns: int) -> None:
        """Forget the flights of an actor that has failed: its pulls are cancelled, and their outcomes unknown."""
        for intent in self._intents.values():
            intent.flights, intent.since_ns, intent.left = 0, now_ns, True

    def _write(self, image: str, image_ref: str, grants: Grants | None, now_ns: int, time_text: str) -> Changes:
        changed = with_grants(self._records.get(image_ref), image, image_ref, grants, time_text)
        self._at_ns[image_ref] = now_ns
        if changed is None:
            return ()
        self._records[image_ref] = changed
        self._unreadable.discard(file_name(image_ref))
        return (FileChange(PULLED, file_name(image_ref), encode_record(changed)),)

    # --- questions --------------------------------------------------------------------------------------------------

    def access(self, image: str, image_ref: str, shown: Shown, now_ns: int, time_text: str) -> tuple[Access, Changes]:
        """Whether a pod that has this may use an image that is here. `image` has a tag or a digest."""
        record = self._records.get(image_ref)
        if (quick := open_to_all(self.known, image, image_ref)) is not None:
            return quick, ()
        if is_unreadable(self.known, image_ref):
            return Access.UNKNOWN, ()
        access, grants = access_of(record, image, shown)
        if grants is None or record is None:
            return access, ()
        return access, self._write(image, image_ref, grants, self._at_ns[image_ref], time_text)

    def may_open_by_account(
        self, image: str, image_ref: str, secrets: Iterable[PullSecret], namespace: str, name: str
    ) -> bool:
        """Whether a service account of this name opens an image that is here, and these secrets do not."""
        record = self._records.get(image_ref)
        if record is None or open_to_all(self.known, image, image_ref) is not None:
            return False
        accounts = (
            each
            for grants in record.credential_mapping.values()
            for each in grants.kubernetes_service_accounts
            if (each.namespace, each.name) == (namespace, name)
        )
        shown = tuple(secrets)
        return not access_of(record, image, Shown(shown))[0].is_open and any(
            access_of(record, image, Shown(shown, each))[0].is_open for each in accounts
        )

    # --- what the runtime has ---------------------------------------------------------------------------------------

    def seen(self, images: Iterable[Image], began_ns: int, now_ns: int, time_text: str) -> Changes:
        """The runtime has these images; the look began at `began_ns`."""
        if not self.policy.keeps_records or not self.is_loaded:
            return ()
        images = tuple(images)
        changes = [*self._found(images, now_ns, time_text), *self._given_up(began_ns)]
        here = {image.id for image in images}
        for ref in [ref for ref, at_ns in self._at_ns.items() if ref not in here and at_ns < began_ns]:
            self._forget(ref)
            changes.append(FileChange(PULLED, file_name(ref)))
        names = {file_name(ref) for ref in here}
        for name in sorted(self._unreadable - names):
            self._unreadable.discard(name)
            changes.append(FileChange(PULLED, name))
        return tuple(changes)

    def _found(self, images: Iterable[Image], now_ns: int, time_text: str) -> list[FileChange]:
        """Images that left-over intents are about: they get a record, and the intent goes."""
        left: dict[str, list[str]] = {}
        for name, intent in self._intents.items():
            if not intent.flights:
                left.setdefault(short_form(name), []).append(name)
        changes: list[FileChange] = []
        for image in images if left else ():
            for form in forms(image) & left.keys():
                for name in left.pop(form):
                    changes += self._write(name, image.id, None, now_ns, time_text)
                    changes += self._intents.pop(name).removal()
        return changes

    def _given_up(self, began_ns: int) -> list[FileChange]:
        """Left-over intents whose pull has long ended without an image."""
        over = [
            image
            for image, intent in self._intents.items()
            if not intent.flights and began_ns - intent.since_ns >= GIVE_UP_NS
        ]
        return [change for image in over for change in self._intents.pop(image).removal()]

    def removed(self, image_ref: str, began_ns: int) -> Changes:
        """The image was removed, and the removal began at `began_ns`."""
        if self._at_ns.get(image_ref, began_ns) >= began_ns:
            return ()
        self._forget(image_ref)
        return (FileChange(PULLED, file_name(image_ref)),)

    def _forget(self, image_ref: str) -> None:
        del self._records[image_ref], self._at_ns[image_ref]
