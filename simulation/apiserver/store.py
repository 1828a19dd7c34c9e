"""What the server remembers: every object in its newest version, the last changes of each resource, and who watches.

One revision counter runs over all objects and is their resourceVersion. An object is JSON builtins and is never changed
once it is in here: a new version shares what stayed the same with the one before. Each version is encoded once, and
that text goes to every list and watch. The cost of a change is that of the watchers it concerns: they stand in buckets
by node, by name and by namespace, so ten thousand pods on a hundred nodes are cheap to follow.

Events are many, and hardly anybody asks for one again: of all but the newest the text alone is kept. Only the newest
changes are remembered (`history_at_most` per resource); a watch that begins before them is refused as expired. Not safe
for threads by itself. Refuses to know what the objects mean.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import msgspec

from actors.kernel.timers import Cancellable
from simulation.apiserver.selection import Selection
from simulation.apiserver.status import Json, StatusError, expired, too_large_version

HISTORY_AT_MOST = 10_000
REMOVED_AT_LEAST = 1_000
"""So many keys that are gone may wait until they are taken out of the order."""
ADDED, MODIFIED, DELETED, BOOKMARK, ERROR = "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"

Key = tuple[str, str]
"""Namespace ("" where there is none) and name."""

_encode = msgspec.json.Encoder().encode


class Version(msgspec.Struct, eq=False):
    """One version of one object. `twin` is for the same version in another shape of the API (see kinds/events.py).
    `node`: the spec.nodeName of a pod in the store; empty where there is none.
    """

    key: Key
    object: Json
    revision: int
    node: str = ""
    twin: Version | None = None
    _body: bytes = b""
    _asked: bool = False

    @property
    def namespace(self) -> str:
        """Empty where its resource knows none."""
        return self.key[0]

    @property
    def name(self) -> str:
        return self.key[1]

    @property
    def uid(self) -> str:
        """The metadata.uid of the object; empty where it has none."""
        uid: str = self.object["metadata"].get("uid", "")
        return uid

    def body(self) -> bytes:
        """The JSON of the object. Kept from the second time on: most are wanted once, by whoever has made them.

        Asked without the lock by whoever answers, while others write down: a text that is there stays there.
        """
        if self._body:
            return self._body
        made = _encode(self.object)
        if self._asked:
            self._body = made
        self._asked = True
        return made

    def write_down(self) -> None:
        """Keep the text alone, which takes a fifth of the memory: for objects that hardly anybody asks for again.

        Whoever does gets the object read anew.
        """
        self._body = self._body or _encode(self.object)
        if self.twin is not None:
            self.twin = None
        self.__class__ = _WrittenDown
        del self.object

    def at(self, revision: int) -> Version:
        """The same object, as it was when it was last seen, at another revision."""
        metadata = {**self.object["metadata"], "resourceVersion": str(revision)}
        return Version(self.key, {**self.object, "metadata": metadata}, revision, self.node)


class _WrittenDown(Version, eq=False):
    """Of which the text alone is there. A class of its own: what every other version says is found without a detour."""

    def __getattr__(self, name: str) -> Any:
        if name != "object":
            raise AttributeError(name)
        return msgspec.json.decode(self._body)


class Change(msgspec.Struct, eq=False):
    """What happened to one object at one revision: old is None for a new one, new for one that is gone."""

    revision: int
    old: Version | None
    new: Version | None
    _gone: Version | None = None

    def gone(self) -> Version:
        """What somebody is told who does not see the object any more."""
        gone = self._gone
        if gone is None:
            assert self.old is not None
            gone = self._gone = self.old.at(self.revision)
        return gone


Sink = Callable[[str, Version], None]


class Watcher:
    """One watch. What comes before `start` is kept for it; `sink` and `on_end` hand over and return.

    `on_end` gets None for an orderly end and the refusal otherwise, once.
    """

    __slots__ = (
        "_collection",
        "_on_end",
        "_waiting",
        "bookmarks",
        "bucket",
        "ended",
        "follows_node",
        "namespace",
        "selection",
        "send",
        "timer",
        "watches_all",
    )

    def __init__(self, collection: Collection, namespace: str, selection: Selection, bookmarks: bool) -> None:
        self.namespace = namespace
        self.selection = selection
        self.bookmarks = bookmarks
        self.watches_all = selection.everything and not namespace
        self.follows_node = selection.node_alone and not namespace
        """Whether it is told of all that is on one node: what every agent asks for."""
        self.bucket = _bucket_of(namespace, selection)
        self.ended = False
        self.timer: Cancellable | None = None
        """Ends it, unless something else does first."""
        self._collection = collection
        self._waiting: list[tuple[str, Version]] = []
        self.send: Sink = self._keep
        """Tells whoever listens; until somebody does, it is kept."""
        self._on_end: Callable[[StatusError | None], None] | None = None

    def start(self, sink: Sink, on_end: Callable[[StatusError | None], None]) -> None:
        """Deliver what has come so far, and go on."""
        waiting, self._waiting = self._waiting, []
        self._on_end = on_end
        self.send = sink
        for kind, version in waiting:
            sink(kind, version)

    def _keep(self, kind: str, version: Version) -> None:
        self._waiting.append((kind, version))

    def offer(self, change: Change) -> None:
        """Tell of a change, as it looks through the selection."""
        old, new, matches = change.old, change.new, self.selection.matches
        was = old is not None and matches(old)
        if new is not None and matches(new):
            self.send(MODIFIED if was else ADDED, new)
        elif was:
            self.send(DELETED, change.gone())

    def end(self, error: StatusError | None = None) -> None:
        """Nothing comes any more. May be called more than once."""
        if self.ended:
            return
        self.ended = True
        self._collection.leave(self)
        if self.timer is not None:
            self.timer.cancel()
        if self._on_end is not None:
            self._on_end(error)


_Bucket = Key | str
"""Namespace and name, "" for any; or a node."""
_EVERYTHING: _Bucket = ("", "")


def _bucket_of(namespace: str, selection: Selection) -> _Bucket:
    if selection.node is not None and not namespace and selection.name is None:
        return selection.node
    return namespace, selection.name or ""


class Collection:
    """The objects of one resource. `by_node`: they are looked up by their node, too. `in_writing`: each is written down
    once there is a newer one.
    """

    def __init__(self, store: Store, *, by_node: bool, in_writing: bool, history_at_most: int) -> None:
        self._store = store
        self._items: dict[Key, Version] = {}
        self.get: Callable[[Key], Version | None] = self._items.get
        """The object of that name, if there is one."""
        self._order: list[Key] = []
        self._is_in_order = True
        self._removed: set[Key] = set()
        """Those that are in `_order` still, and not in the collection any more."""
        self._by_node: dict[str, dict[Key, None]] | None = {} if by_node else None
        self._in_writing = in_writing
        self._newest: Version | None = None
        self._watch_all: tuple[Watcher, ...] = ()
        """Who watches everything, and is told of every change as it is."""
        self._watchers: dict[_Bucket, tuple[Watcher, ...]] = {}
        """All others."""
        self._watched_by_name = False
        """Whether somebody watches only what has some name, or is in some namespace."""
        self._history: list[Change] = []
        self._history_at_most = history_at_most
        self._history_full = 2 * history_at_most
        """With more than that the older half is forgotten."""
        self.forgotten = 0
        """Revision of the newest change that is not remembered any more."""

    def __len__(self) -> int:
        return len(self._items)

    def all(self) -> Iterator[Version]:
        """Every object, in no particular order."""
        return iter(self._items.values())

    def on_node(self, node: str) -> Iterator[Json]:
        """The objects bound to that node."""
        if self._by_node is not None:
            for key in self._by_node.get(node, ()):
                yield self._items[key].object

    def holds(self, namespace: str) -> bool:
        """Whether there is anything in that namespace."""
        order = self._in_order()
        place = bisect_left(order, (namespace, ""))
        return place < len(order) and order[place][0] == namespace

    def put(self, key: Key, value: Json) -> Version:
        """Store a new object or a new version, which says of itself that it is `key`. `value` and its metadata belong
        to the store from now on.
        """
        store = self._store
        revision = store.revision = store.revision + 1
        value["metadata"]["resourceVersion"] = str(revision)
        items, by_node = self._items, self._by_node
        node = "" if by_node is None else value["spec"].get("nodeName") or ""
        version = Version(key, value, revision, node)
        old = items.get(key)
        items[key] = version
        if old is None:
            if key in self._removed:
                self._removed.discard(key)
            else:
                self._order.append(key)
                self._is_in_order = False
        if by_node is not None and (old is None or old.node != node):
            self._index(by_node, key, old, version)
        self._tell(Change(revision, old, version))
        if self._in_writing:
            if self._newest is not None:
                self._newest.write_down()
            self._newest = version
        return version

    def remove(self, key: Key) -> Change:
        """The object is gone. Raises KeyError when there is none."""
        store = self._store
        store.revision += 1
        old = self._items.pop(key)
        self._removed.add(key)
        if len(self._removed) > len(self._items) + REMOVED_AT_LEAST:
            self._in_order()
        if self._by_node is not None:
            self._index(self._by_node, key, old, None)
        change = Change(store.revision, old, None)
        self._tell(change)
        return change

    def select(self, namespace: str, selection: Selection, after: Key | None = None) -> Iterator[Version]:
        """What is selected, by namespace and name, from behind `after` on."""
        items = self._items
        for key in self._keys(namespace, selection, after):
            version = items[key]
            if selection.matches(version):
                yield version

    def _keys(self, namespace: str, selection: Selection, after: Key | None) -> list[Key]:
        if selection.node is not None and self._by_node is not None:
            here = self._by_node.get(selection.node, ())
            return sorted(key for key in here if (not namespace or key[0] == namespace) and (not after or key > after))
        if selection.name is not None and namespace:
            key = (namespace, selection.name)
            return [key] if key in self._items and (not after or key > after) else []
        order = self._in_order()
        start, end = 0, len(order)
        if namespace:
            start, end = bisect_left(order, (namespace, "")), bisect_left(order, (namespace + "\0", ""))
        if after is not None:
            start = max(start, bisect_right(order, after))
        return order[start:end]

    # Most changes come while nobody asks for a list; so the keys are put in order only when somebody does.

    def _in_order(self) -> list[Key]:
        """All keys, by namespace and name."""
        if self._removed:
            removed, self._removed = self._removed, set()
            self._order = [key for key in self._order if key not in removed]
        if not self._is_in_order:
            self._order.sort()
            self._is_in_order = True
        return self._order

    @staticmethod
    def _index(by_node: dict[str, dict[Key, None]], key: Key, old: Version | None, new: Version | None) -> None:
        """It has come to another node, or is new or gone."""
        if old is not None:
            here = by_node[old.node]
            del here[key]
            if not here:
                del by_node[old.node]
        if new is not None:
            by_node.setdefault(new.node, {})[key] = None

    # --- watching ---------------------------------------------------------------------------------------------------

    def watch(self, watcher: Watcher) -> None:
        if watcher.watches_all:
            self._watch_all = (*self._watch_all, watcher)
            return
        self._watchers[watcher.bucket] = (*self._watchers.get(watcher.bucket, ()), watcher)
        self._note_buckets()

    def leave(self, watcher: Watcher) -> None:
        if watcher.watches_all:
            self._watch_all = tuple(other for other in self._watch_all if other is not watcher)
            return
        those = tuple(other for other in self._watchers.get(watcher.bucket, ()) if other is not watcher)
        if those:
            self._watchers[watcher.bucket] = those
        else:
            self._watchers.pop(watcher.bucket, None)
        self._note_buckets()

    def _note_buckets(self) -> None:
        self._watched_by_name = any(type(bucket) is tuple and bucket != _EVERYTHING for bucket in self._watchers)

    def watchers(self) -> list[Watcher]:
        return [*self._watch_all, *(watcher for those in self._watchers.values() for watcher in those)]

    def changes_after(self, revision: int) -> list[Change]:
        """Raises StatusError (410) when some of them are forgotten."""
        if revision < self.forgotten:
            raise expired(f"too old resource version: {revision} ({self.forgotten})")
        history = self._history
        return history[bisect_right(history, revision, key=attrgetter("revision")) :]

    def changed_after(self, revision: int) -> bool:
        """Whether the collection looked different at that revision."""
        return revision < self.forgotten or bool(self._history and self._history[-1].revision > revision)

    def forget(self, keep: int = 0) -> None:
        """Remember only the last `keep` changes."""
        cut = len(self._history) - keep
        if cut > 0:
            self.forgotten = self._history[cut - 1].revision
            del self._history[:cut]

    def _tell(self, change: Change) -> None:
        history = self._history
        history.append(change)
        if len(history) > self._history_full:
            self.forget(self._history_at_most)
        if self._watch_all:
            if (told := change.new) is None:
                kind, told = DELETED, change.gone()
            else:
                kind = ADDED if change.old is None else MODIFIED
            for watcher in self._watch_all:
                watcher.send(kind, told)
        if self._watchers:
            self._tell_selective(change)

    def _tell_selective(self, change: Change) -> None:
        """Tell those who do not watch everything."""
        old, new, watchers = change.old, change.new, self._watchers
        if old is None or new is None or old.node != new.node or self._watched_by_name:
            for bucket in self._buckets(change):
                for watcher in watchers.get(bucket, ()):
                    watcher.offer(change)
            return
        # Most changes: it stays where it was.
        for watcher in watchers.get(_EVERYTHING, ()):
            watcher.offer(change)
        for watcher in watchers.get(new.node, ()):
            if watcher.follows_node:
                watcher.send(MODIFIED, new)
            else:
                watcher.offer(change)

    def _buckets(self, change: Change) -> list[_Bucket]:
        """Where those stand who may see the object before or after."""
        buckets: list[_Bucket] = [_EVERYTHING]
        old, new = change.old, change.new
        if self._watched_by_name:
            shown = new or old
            assert shown is not None
            namespace, name = shown.key
            buckets.append((namespace, name))
            if namespace:
                buckets += ((namespace, ""), ("", name))
        if self._by_node is not None:
            if old is not None:
                buckets.append(old.node)
            if new is not None and (old is None or old.node != new.node):
                buckets.append(new.node)
        return buckets


class _Collections(dict[str, Collection]):
    """By store key; each is made when it is first asked for."""

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
    """See the module. `by_node`: the resource keys whose objects are looked up by spec.nodeName; `in_writing`: those
    whose objects are many and seldom asked for.
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
        """The objects of each resource, by its key: made when they are first asked for."""

    def collections(self) -> tuple[Collection, ...]:
        return tuple(self.of.values())

    def get(self, key: str, namespace: str, name: str) -> Version | None:
        return self.of[key].get((namespace, name))

    def put(self, key: str, value: Json) -> Version:
        """See `Collection.put`."""
        metadata = value["metadata"]
        return self.of[key].put((metadata.get("namespace", ""), metadata["name"]), value)

    def remove(self, key: str, namespace: str, name: str) -> Version:
        """The object is gone; what it was last. Raises KeyError when there is none."""
        return self.of[key].remove((namespace, name)).gone()

    def drop(self, key: str, namespace: str, name: str) -> None:
        """Like `remove`, for whom it does not matter what the object was last."""
        self.of[key].remove((namespace, name))

    def watch(
        self, key: str, namespace: str, selection: Selection, since: int | None, *, bookmarks: bool = False
    ) -> Watcher:
        """Follow what is selected: from the change after `since` on, or (None) with all there is, as ADDED, first.

        Raises StatusError: 410 when changes since then are forgotten, 504 when the server has not come that far.
        """
        collection = self.of[key]
        if since is not None and since > self.revision:
            raise too_large_version(since, self.revision)
        watcher = Watcher(collection, namespace, selection, bookmarks)
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
        """Tell of the key of each collection: now of those that are there, and of each new one while it is empty.

        One may listen.
        """
        self.of.on_new = told
        for key in tuple(self.of):
            told(key)

    def forget(self) -> None:
        """Lose the memory of all changes: every watch that is to go on from now or before gets a 410."""
        self.revision += 1
        for collection in self.of.values():
            collection.forget()
            collection.forgotten = self.revision
