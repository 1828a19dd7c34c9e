"""Image leases: which pods need which images before a container uses them.

The record of `ImageGCActor`. It is a separate object that outlives a failure of that actor, so that granted leases
hold. Nothing in it waits or fails.

Listing the runtime takes a while, and the list may miss containers made meanwhile. Their leases may even have ended
before the list is judged. So an image leased at any moment since the look began counts as leased for that look.

A removal is carried through: an image is leaving until the runtime has answered. If the answer is lost, the removal may
still happen at any later moment. So it is requested again, and new leases of the image wait until then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from actors.images.gc_rules import forms
from actors.messages.images import LeaseImages
from config.caches import KIB, kept
from config.values.image_names import short_form
from runtime.cri.messages import Image


@kept(256 * KIB)
def _keys(images: frozenset[str]) -> frozenset[str]:
    """The short forms of image names. Cached, because the pods of one template name the same images."""
    return frozenset(map(short_form, images))


class ImageLeases:
    def __init__(self) -> None:
        self._held: dict[str, frozenset[str]] = {}
        self._count: Counter[str] = Counter()
        self._looking = False
        self._ended_since: set[str] = set()
        """Nobody asks for them between two looks; then the names of dead pods' images would stay."""
        self._leaving: dict[str, Image] = {}
        self._waiting: dict[str, LeaseImages] = {}
        self._looks = 0

    def lease(self, request: LeaseImages) -> bool:
        """Lease images. Whether the lease holds at once; otherwise `has_left` returns the request later."""
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
        """Whether none of the images is leaving."""
        return not self._leaving or all(keys.isdisjoint(forms(image)) for image in self._leaving.values())

    def release(self, uid: str) -> None:
        """End the lease of this pod."""
        self._waiting.pop(uid, None)
        self._end(uid)

    def keep_only(self, uids: Set[str]) -> None:
        """End the leases of all other pods: a release may have been lost."""
        for uid in sorted(self._held.keys() - uids):
            self.release(uid)

    def _end(self, uid: str) -> None:
        keys = self._held.pop(uid, None)
        if keys:
            for key in keys:
                self._count[key] -= 1
                if not self._count[key]:
                    del self._count[key]
            if self._looking:
                self._ended_since |= keys

    def begin_look(self) -> int:
        """Forget the leases that have ended before. Returns the number of the new look."""
        self._ended_since.clear()
        self._looking = True
        self._looks += 1
        return self._looks

    def end_look(self) -> None:
        """No more images are judged by the newest look."""
        self._looking = False
        self._ended_since.clear()

    def needed(self) -> Set[str]:
        """Short forms of all images leased now or since the look began."""
        return self._count.keys() | self._ended_since

    def is_leased(self, image: Image) -> bool:
        """Whether some pod holds the image now, and has been told so."""
        return any(not keys.isdisjoint(forms(image)) for uid, keys in self._held.items() if uid not in self._waiting)

    def is_free(self, image: Image) -> bool:
        """Whether the image may be removed: not leased now or since the look began, and not leaving."""
        return image.id not in self._leaving and self.nobody_has(image)

    def nobody_has(self, image: Image) -> bool:
        return all(form not in self._count and form not in self._ended_since for form in forms(image))

    def leaves(self, image: Image) -> None:
        """The removal of the image begins: new leases of it have to wait."""
        assert self.nobody_has(image), "no image with a lease is removed"
        self._leaving[image.id] = image

    def leaving(self) -> tuple[Image, ...]:
        """Images whose removal has begun and whose outcome is unknown."""
        return tuple(self._leaving.values())

    def has_left(self, image: Image) -> list[LeaseImages]:
        """The removal has ended, with success or failure. Returns the requests whose leases hold now."""
        self._leaving.pop(image.id, None)
        here = [uid for uid, request in self._waiting.items() if self._are_here(self._held[request.uid])]
        return [self._waiting.pop(uid) for uid in here]
