"""Who needs which images though no container is made from them yet.

The book of `ImageGCActor`, kept apart from it: it outlives a failure of that actor, so that what was promised to a
worker holds. Nothing in it waits, and nothing can fail.

A look at the runtime takes a while, and containers may be made meanwhile that it does not show. Their leases may have
ended as well by the time it is judged: so what was leased at any moment since the look began counts as leased until it
has been acted upon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from actors.image_gc_rules import forms
from actors.image_messages import LeaseImages
from actors.image_names import short_form
from runtime.cri.messages import Image


class ImageLeases:
    """See the module."""

    def __init__(self) -> None:
        self._held: dict[str, frozenset[str]] = {}
        self._count: Counter[str] = Counter()
        self._ended_since: set[str] = set()
        self._leaving: frozenset[str] = frozenset()
        self._waiting: dict[str, LeaseImages] = {}
        self._looks = 0

    def lease(self, request: LeaseImages) -> bool:
        """Whether all of these are there to be used at once; else they are once what is leaving has left."""
        keys = frozenset(map(short_form, request.images))
        self._end(request.uid)
        self._held[request.uid] = keys
        self._count.update(keys)
        self._ended_since -= keys
        if self._leaving.isdisjoint(keys):
            self._waiting.pop(request.uid, None)
            return True
        self._waiting[request.uid] = request
        return False

    def release(self, uid: str) -> None:
        """Nobody of this pod needs any."""
        self._waiting.pop(uid, None)
        self._end(uid)

    def keep_only(self, uids: Set[str]) -> None:
        """There are no other pods: an end may have been lost on its way."""
        for uid in sorted(self._held.keys() - uids):
            self.release(uid)

    def _end(self, uid: str) -> None:
        keys = self._held.pop(uid, None)
        if keys:
            self._count.subtract(keys)
            for key in keys:
                if not self._count[key]:
                    del self._count[key]
            self._ended_since |= keys

    def begin_look(self) -> int:
        """What has ended before does not count any more. The number of the look."""
        self._ended_since.clear()
        self._looks += 1
        return self._looks

    def needed(self) -> Set[str]:
        """Short forms of all that is leased, or was since the look began."""
        return self._count.keys() | self._ended_since

    def is_free(self, image: Image) -> bool:
        """Whether nobody has leased it, now or since the look began."""
        return all(form not in self._count and form not in self._ended_since for form in forms(image))

    def leaves(self, image: Image) -> None:
        """Its removal begins: who leases it from now on has to wait."""
        assert self.is_free(image), "no image with a lease is removed"
        self._leaving = forms(image)

    def has_left(self) -> list[LeaseImages]:
        """The removal has ended, well or not: whose leases hold now."""
        self._leaving = frozenset()
        granted = list(self._waiting.values())
        self._waiting.clear()
        return granted
