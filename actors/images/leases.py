"""Who needs which images though no container is made from them yet.

The book of `ImageGCActor`, kept apart from it: it outlives a failure of that actor, so that what was promised to a
worker holds. Nothing in it waits, and nothing can fail.

A look at the runtime takes a while, and containers may be made meanwhile that it does not show. Their leases may have
ended as well by the time it is judged: so what was leased at any moment since the look began counts as leased until it
has been acted upon.

A removal that was begun is carried through: an image is leaving until the runtime has said what came of it. Where that
answer is lost the removal may still be done at any later moment, so it is asked for again, and whoever leases the image
waits for as long. Only what the runtime has answered is certain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from functools import lru_cache

from actors.images.gc_rules import forms
from actors.messages.images import LeaseImages
from config.values.image_names import short_form
from runtime.cri.messages import Image


@lru_cache(maxsize=1024)
def _keys(images: frozenset[str]) -> frozenset[str]:
    """What the book knows them by. The pods of one template name the same."""
    return frozenset(map(short_form, images))


class ImageLeases:
    """See the module."""

    def __init__(self) -> None:
        self._held: dict[str, frozenset[str]] = {}
        self._count: Counter[str] = Counter()
        self._ended_since: set[str] = set()
        self._leaving: dict[str, Image] = {}
        self._waiting: dict[str, LeaseImages] = {}
        self._looks = 0

    def lease(self, request: LeaseImages) -> bool:
        """Whether all of these are there to be used at once; else they are once what is leaving has left."""
        keys = _keys(request.images)
        self._end(request.uid)
        self._held[request.uid] = keys
        for key in keys:
            self._count[key] += 1
        self._ended_since -= keys
        if self._are_here(keys):
            self._waiting.pop(request.uid, None)
            return True
        self._waiting[request.uid] = request
        return False

    def _are_here(self, keys: frozenset[str]) -> bool:
        """Whether none of them is leaving."""
        return not self._leaving or all(keys.isdisjoint(forms(image)) for image in self._leaving.values())

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
            for key in keys:
                self._count[key] -= 1
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

    def is_leased(self, image: Image) -> bool:
        """Whether somebody holds it now, and has been told so."""
        return any(not keys.isdisjoint(forms(image)) for uid, keys in self._held.items() if uid not in self._waiting)

    def is_free(self, image: Image) -> bool:
        """Whether it may be removed: nobody has leased it, now or since the look began, and it is not leaving."""
        return image.id not in self._leaving and self.nobody_has(image)

    def nobody_has(self, image: Image) -> bool:
        return all(form not in self._count and form not in self._ended_since for form in forms(image))

    def leaves(self, image: Image) -> None:
        """Its removal begins: who leases it from now on has to wait."""
        assert self.nobody_has(image), "no image with a lease is removed"
        self._leaving[image.id] = image

    def leaving(self) -> tuple[Image, ...]:
        """Those whose removal was begun, and of which it is not known what came of it."""
        return tuple(self._leaving.values())

    def has_left(self, image: Image) -> list[LeaseImages]:
        """What came of its removal is certain, be it good or bad: whose leases hold now."""
        self._leaving.pop(image.id, None)
        here = [uid for uid, request in self._waiting.items() if self._are_here(self._held[request.uid])]
        return [self._waiting.pop(uid) for uid in here]
