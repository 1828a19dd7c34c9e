"""The server's memory.

It has every object in its newest version, the last changes of each resource, and the watchers.

One revision counter covers all objects and is their resourceVersion. An object is JSON builtins and never changes once
it is stored: a new version shares the unchanged parts. A new version is encoded at most once. Watchers are indexed by
node, by name and by namespace, and a change visits only those it concerns. So ten thousand pods on a hundred nodes are
cheap to watch. An object is at rest when its last change is no longer kept. Then it is encoded whenever somebody asks
for it: such texts would be a tenth of the memory.

Only the newest changes of each resource are kept, at most `history_at_most` and `HISTORY_BYTES`; a watch from before
them is refused as expired. The store itself is not thread-safe. It does not interpret objects.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter

import msgspec

from actors.kernel.timers import Cancellable
from simulation.apiserver.fields.managers import Managed, encodable, shown
from simulation.apiserver.status import Json, StatusError, expired, too_large_version
from simulation.apiserver.store.selection import Selection

HISTORY_AT_MOST = 10_000
HISTORY_BYTES = 8 * 2**20
"""The JSON of a resource's changes that are kept.

A client that has missed more than that lists everything anew.
"""
ADDED, MODIFIED, DELETED, BOOKMARK, ERROR = "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"

Key = tuple[str, str]
"""Namespace ("" where there is none) and name."""

encode = msgspec.json.Encoder().encode


class ExpiredError(Exception):
    """The objects of that revision are no longer known."""


def place_of(key: Key, namespace: str = "") -> str:
    """Where an object stands in a list: "namespace/name".

    Its name alone where all have one namespace, or none.
    """
    return key[1] if namespace or not key[0] else f"{key[0]}/{key[1]}"


class Version(msgspec.Struct, eq=False):
    """One version of one object. `node`: the spec.nodeName of a pod, or "".

    `twin`: the same version in another shape of the API (see `versions`). `managed`: the owners of its fields,
    which stand in its metadata wherever somebody reads them, and not in `object`.
    """

    key: Key
    _object: Json | None
    revision: int
    node: str = ""
    twin: Version | None = None
    _body: bytes | None = b""
    """The JSON of the whole object, or nothing yet.

    None: it is encoded each time, as objects at rest are.
    """
    _text: bytes = b""
    """The JSON of an object that is written down."""
    _size_bytes: int = 0
    managed: Managed = ()

    @property
    def object(self) -> Json:
        known = self._object
        if known is None:
            known = msgspec.json.decode(self._text)
        return known

    def whole(self) -> Json:
        """The object with its managed fields."""
        return _with_managed(self.object, shown(self.managed)) if self.managed else self.object

    @property
    def namespace(self) -> str:
        """Empty for a resource without namespaces."""
        return self.key[0]

    @property
    def name(self) -> str:
        return self.key[1]

    @property
    def uid(self) -> str:
        """The metadata.uid of the object; empty without one."""
        uid: str = self.object["metadata"].get("uid", "")
        return uid

    def body(self) -> bytes:
        """The JSON of the whole object, which begins with its kind and version."""
        if self._text and not self.managed:
            return self._text
        body = self._body or _encoded(self.object, self.managed)
        if self._object is not None and self._body is not None:
            self._body = body
        return body

    def come_to_rest(self) -> None:
        """Keep the JSON no longer: it takes as much as a third of the object, and few ask for it now."""
        self._body = None

    @property
    def size_bytes(self) -> int:
        """The length of the JSON."""
        self._size_bytes = self._size_bytes or len(self._body or self._text or encode(self._object))
        return self._size_bytes

    def write_down(self) -> None:
        """Keep only the JSON text, a fifth of the memory, for objects that are seldom read again.

        The owners of its fields are not in the text: many versions share them.
        """
        if self._object is not None:
            self._text = _encoded(self._object)
            self.twin = self._object = None
            self._body = b""

    def at(self, revision: int) -> Version:
        """The same object at another revision."""
        metadata = {**self.object["metadata"], "resourceVersion": str(revision)}
        return Version(self.key, {**self.object, "metadata": metadata}, revision, self.node, managed=self.managed)


def _encoded(value: Json, managed: Managed = ()) -> bytes:
    value = _with_managed(value, encodable(managed)) if managed else value
    return encode({"kind": value["kind"], "apiVersion": value["apiVersion"], **value})


def _with_managed(value: Json, entries: list[Json]) -> Json:
    return {**value, "metadata": {**value["metadata"], "managedFields": entries}}


class StoreChange(msgspec.Struct, eq=False):
    """One change of one object at one revision. A new object has no `old`, a removed one no `new`."""

    revision: int
    old: Version | None
    new: Version | None
    _gone: Version | None = None

    @property
    def size_bytes(self) -> int:
        """Of the JSON of the changed object."""
        shown = self.new or self.old
        assert shown is not None
        return shown.size_bytes

    def gone(self) -> Version:
        """The deleted object as a watcher gets it: its last version, at the revision of the deletion."""
        if self._gone is None:
            assert self.old is not None
            self._gone = self.old.at(self.revision)
        return self._gone


Sink = Callable[[str, Version], None]
_Bucket = Key | str
"""Namespace and name, "" for any; or a node."""


class Watcher:
    """One watch. Changes before `start` are kept for it; `sink` and `on_end` must return at once.

    `on_end` is called once, with None for an orderly end and the refusal otherwise.
    """

    def __init__(self, collection: Collection, namespace: str, selection: Selection) -> None:
        self._collection = collection
        self._selection = selection
        self._waiting: list[tuple[str, Version]] = []
        self._on_end: Callable[[StatusError | None], None] | None = None
        self.bucket: _Bucket = (namespace, selection.name or "")
        """The indexes in which the watcher is registered."""
        if selection.node is not None and not namespace and selection.name is None:
            self.bucket = selection.node
        self.ended = False
        self.gate: Callable[[Sink], Sink] | None = None
        """Stands before the listener, if it is set before `start`: it may hold changes back, and drop them."""
        self.timer: Cancellable | None = None
        """Ends the watcher, unless it ended before."""
        self.send: Sink = lambda kind, version: self._waiting.append((kind, version))
        """Calls the listener; before there is one, keeps the changes."""

    def start(self, sink: Sink, on_end: Callable[[StatusError | None], None]) -> None:
        """Deliver the changes so far, and all later ones."""
        waiting, self._waiting = self._waiting, []
        self._on_end = on_end
        sink = sink if self.gate is None else self.gate(sink)
        self.send = sink
        for kind, version in waiting:
            sink(kind, version)

    def offer(self, change: StoreChange) -> None:
        """Deliver a change as the selection shows it."""
        old, new, matches = change.old, change.new, self._selection.matches
        was = old is not None and matches(old)
        if new is not None and matches(new):
            self.send(MODIFIED if was else ADDED, new)
        elif was:
            self.send(DELETED, change.gone())

    def end(self, error: StatusError | None = None) -> None:
        """End the watch. May be called more than once."""
        if self.ended:
            return
        self.ended = True
        self._collection.leave(self)
        if self.timer is not None:
            self.timer.cancel()
        if self._on_end is not None:
            self._on_end(error)


class Collection:
    """The objects of one resource. `by_node`: index them by node. `in_writing`: keep old versions as text."""

    def __init__(self, store: Store, *, by_node: bool, in_writing: bool, history_at_most: int) -> None:
        self._store = store
        self._items: dict[Key, Version] = {}
        self._by_node: dict[str, dict[Key, None]] | None = {} if by_node else None
        self._in_writing = in_writing
        self._newest: Version | None = None
        self._watchers: dict[_Bucket, dict[Watcher, None]] = {}
        self._history: list[StoreChange] = []
        self._history_bytes = 0
        self._history_at_most = history_at_most
        self.forgotten = 0
        """Revision of the newest change that is no longer kept."""

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: Key) -> Version | None:
        return self._items.get(key)

    def all(self) -> Iterator[Version]:
        """Every object, in no particular order."""
        return iter(self._items.values())

    def on_node(self, node: str) -> Iterator[Json]:
        """The objects bound to that node."""
        return (self._items[key].object for key in (self._by_node or {}).get(node, ()))

    def holds(self, namespace: str) -> bool:
        """Whether the namespace has any object."""
        return any(key[0] == namespace for key in self._items)

    def in_namespace(self, namespace: str) -> list[Version]:
        """The objects of that namespace, by name."""
        return [self._items[key] for key in sorted(key for key in self._items if key[0] == namespace)]

    def put(self, key: Key, value: Json, managed: Managed | None = None) -> Version:
        """Store an object or a new version under `key`, which its metadata must name. Takes over `value`.

        `managed`: the owners of its fields; None: those before.
        """
        self._store.revision += 1
        revision = self._store.revision
        value["metadata"]["resourceVersion"] = str(revision)
        node = "" if self._by_node is None else value["spec"].get("nodeName") or ""
        old = self._items.get(key)
        if managed is None:
            managed = () if old is None else old.managed
        version = Version(key, value, revision, node, managed=managed)
        self._items[key] = version
        self._tell(StoreChange(revision, old, version))
        if self._in_writing:
            if self._newest is not None:
                self._newest.write_down()
            self._newest = version
        return version

    def remove(self, key: Key) -> StoreChange:
        """Remove the object. Raises KeyError when there is none."""
        old = self._items.pop(key)
        self._store.revision += 1
        change = StoreChange(self._store.revision, old, None)
        self._tell(change)
        return change

    def select(
        self, namespace: str, selection: Selection, start: str = "", *, at: int | None = None
    ) -> Iterator[Version]:
        """The selected objects in the order of their places, beginning at the place `start`.

        As they were at the revision `at`; None: now. Raises ExpiredError when that is no longer known.
        """
        if at is not None and self.changed_after(at):
            items = self._as_of(at)
            return self._in_order(items, iter(items), namespace, selection, start)
        keys: Iterator[Key] = iter(self._items)
        if selection.node is not None and self._by_node is not None:
            keys = iter(self._by_node.get(selection.node, ()))
        elif selection.name is not None and namespace:
            keys = iter([(namespace, selection.name)] if (namespace, selection.name) in self._items else [])
        return self._in_order(self._items, keys, namespace, selection, start)

    @staticmethod
    def _in_order(
        items: Mapping[Key, Version], keys: Iterator[Key], namespace: str, selection: Selection, start: str
    ) -> Iterator[Version]:
        wanted = [key for key in keys if not namespace or key[0] == namespace]
        if start:
            wanted = [key for key in wanted if place_of(key, namespace) >= start]
        wanted.sort(key=None if namespace else place_of)
        return filter(selection.matches, [items[key] for key in wanted])

    def _as_of(self, revision: int) -> Mapping[Key, Version]:
        """The objects as they were. Raises ExpiredError."""
        if revision < self.forgotten:
            raise ExpiredError
        items = dict(self._items)
        for change in reversed(self.changes_after(revision)):
            version = change.new or change.old
            assert version is not None
            if change.old is None:
                del items[version.key]
            else:
                items[version.key] = change.old
        return items

    # --- watching ---------------------------------------------------------------------------------------------------

    def watch(self, watcher: Watcher) -> None:
        self._watchers.setdefault(watcher.bucket, {})[watcher] = None

    def leave(self, watcher: Watcher) -> None:
        those = self._watchers.get(watcher.bucket, {})
        those.pop(watcher, None)
        if not those:
            self._watchers.pop(watcher.bucket, None)

    @property
    def is_watched(self) -> bool:
        return bool(self._watchers)

    def end_watches(self, error: StatusError | None = None) -> None:
        for watcher in [watcher for those in self._watchers.values() for watcher in those]:
            watcher.end(error)

    def changes_after(self, revision: int) -> list[StoreChange]:
        """The changes after a revision. Raises StatusError (410) when some are no longer kept."""
        if revision < self.forgotten:
            raise expired(f"too old resource version: {revision} ({self.forgotten})")
        return self._history[bisect_right(self._history, revision, key=attrgetter("revision")) :]

    def changed_after(self, revision: int) -> bool:
        """Whether the collection has changed since that revision."""
        return revision < self.forgotten or bool(self._history and self._history[-1].revision > revision)

    def forget(self, keep: int = 0) -> None:
        """Keep only the last `keep` changes."""
        self._forget_first(len(self._history) - keep)

    def _forget_first(self, cut: int) -> None:
        if cut > 0:
            self.forgotten = self._history[cut - 1].revision
            for change in self._history[:cut]:
                self._history_bytes -= change.size_bytes
                if change.new is not None:
                    change.new.come_to_rest()
            del self._history[:cut]

    def _keep_history_small(self) -> None:
        """Forget half of it at once: to cut off a list at its beginning takes long."""
        if len(self._history) > 2 * self._history_at_most:
            self.forget(self._history_at_most)
        if self._history_bytes > HISTORY_BYTES:
            left, cut = self._history_bytes, 0
            while left > HISTORY_BYTES // 2:
                left -= self._history[cut].size_bytes
                cut += 1
            self._forget_first(cut)

    def _tell(self, change: StoreChange) -> None:
        if self._by_node is not None:
            self._index(self._by_node, change)
        self._history.append(change)
        for bucket in self._buckets(change):
            for watcher in tuple(self._watchers.get(bucket, ())):
                watcher.offer(change)
        self._history_bytes += change.size_bytes
        self._keep_history_small()

    @staticmethod
    def _index(by_node: dict[str, dict[Key, None]], change: StoreChange) -> None:
        old, new = change.old, change.new
        if old is not None and (new is None or new.node != old.node):
            del by_node[old.node][old.key]
            if not by_node[old.node]:
                del by_node[old.node]
        if new is not None and (old is None or new.node != old.node):
            by_node.setdefault(new.node, {})[new.key] = None

    def _buckets(self, change: StoreChange) -> dict[_Bucket, None]:
        """The indexes of watchers that may see the object before or after."""
        shown = change.new or change.old
        assert shown is not None
        namespace, name = shown.key
        buckets: list[_Bucket] = [("", ""), (namespace, name), (namespace, ""), ("", name)]
        if self._by_node is not None:
            buckets += [version.node for version in (change.old, change.new) if version is not None]
        return dict.fromkeys(buckets)


class _Collections(dict[str, Collection]):
    """Collections by store key; each is made on first use."""

    def __init__(self, make: Callable[[str], Collection]) -> None:
        super().__init__()
        self._make = make
        self.on_new: Callable[[str], object] | None = None

    def __missing__(self, key: str) -> Collection:
        made = self[key] = self._make(key)
        if self.on_new is not None:
            self.on_new(key)
        return made


class Store:
    """`by_node`: keys of resources to index by spec.nodeName.

    `in_writing`: keys of resources with many objects that are seldom read.
    """

    def __init__(
        self,
        *,
        history_at_most: int = HISTORY_AT_MOST,
        by_node: tuple[str, ...] = ("pods",),
        in_writing: tuple[str, ...] = ("events",),
    ) -> None:
        self.revision = 1
        self.of = _Collections(
            lambda key: Collection(
                self, by_node=key in by_node, in_writing=key in in_writing, history_at_most=history_at_most
            )
        )
        """The objects of each resource, by its key."""

    def collections(self) -> tuple[Collection, ...]:
        return tuple(self.of.values())

    def get(self, key: str, namespace: str, name: str) -> Version | None:
        return self.of[key].get((namespace, name))

    def put(self, key: str, value: Json) -> Version:
        """See `Collection.put`."""
        metadata = value["metadata"]
        return self.of[key].put((metadata.get("namespace", ""), metadata["name"]), value)

    def remove(self, key: str, namespace: str, name: str) -> Version:
        """Remove the object; returns its last version. Raises KeyError when there is none."""
        return self.of[key].remove((namespace, name)).gone()

    def watch(self, key: str, namespace: str, selection: Selection, since: int | None) -> Watcher:
        """Watch the selected objects, from the change after `since` on.

        None: begin with all objects as ADDED.

        Raises StatusError: 410 when changes since then are no longer kept, 504 when that revision is in the future.
        """
        collection = self.of[key]
        if since is not None and since > self.revision:
            raise too_large_version(since, self.revision)
        watcher = Watcher(collection, namespace, selection)
        if since is None:
            for version in collection.select(namespace, selection):
                watcher.send(ADDED, version)
        else:
            for change in collection.changes_after(since):
                shown = change.new or change.old
                if shown is not None and (not namespace or shown.namespace == namespace):
                    watcher.offer(change)
        collection.watch(watcher)
        return watcher

    def follow_collections(self, told: Callable[[str], object]) -> None:
        """Call a listener with the key of each collection, and of each new one while it is empty. There is one
        listener."""
        self.of.on_new = told
        for key in tuple(self.of):
            told(key)

    def forget(self) -> None:
        """Drop the history of changes: every watch that would go on from now or before gets a 410."""
        self.revision += 1
        for collection in self.of.values():
            collection.forget()
            collection.forgotten = self.revision
