"""`ImageGCActor`: the only one to remove images (spec 6.5, 7.3). Docs: docs/reference/images.md.

It decides and never waits: its child lists and removes (`actors.images.removal`), one image after the other. It acts on
two occasions. Every five minutes it removes images if their file system is too full, and images unused for too long.
When the eviction manager asks, it removes every unneeded image that is old enough. The freed space is measured after
each removal, not computed from image sizes.

A pod leases its images before it looks for them, until it ends. This actor grants leases and decides removals in one
mailbox, so an image is either leased or leaving, never both. A lease of a leaving image is granted once it has left. A
removal without an answer is requested again through another child until an answer comes. Nothing is removed before
every pod source is ready (`KnownPods`) and the workers of those pods have had time to lease their images.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

import msgspec

from actors.images import gc_rules as rules
from actors.images.gc_rules import GcLimits, ImageLife
from actors.images.leases import ImageLeases
from actors.images.removal import ImageRemover, ImagesLooked, LookAtImages, OneRemoved, RemoveOne
from actors.kernel import Actor, ActorRef, ChildFailed, Message, SoleMessage, handles
from actors.messages.events import RecordEvent
from actors.messages.images import ImageRemoved, ImagesLeased, ImagesSeen, LeaseImages, ReleaseImages
from actors.messages.node import ImagesChanged
from actors.messages.pods import KnownPods
from actors.messages.reclaim import ImagesReclaimed, ReclaimImages
from actors.node_object.events import node_event
from config.values.image_names import short_form
from runtime.cri import Cri
from runtime.cri.messages import Image
from runtime.metrics import kubelet as names
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.stats.capability import HostStats
from runtime.stats.readings import FsReading
from runtime.traces.rounds import Rounds
from runtime.traces.spans import Tracer

SECOND_NS = 1_000_000_000
PASS_NS = 300 * SECOND_NS
AGAIN_NS = 5 * SECOND_NS
"""Between two requests for a removal whose answer was lost."""
SETTLE_NS = 5 * SECOND_NS
"""Time for workers to lease the images of the first pods."""
REMOVER, LATE_REMOVER = "remover", "late-remover"
"""The second repeats removals whose answer the first has lost; they may take any time."""
AGE, SPACE = "age", "space"


class ImageTools(msgspec.Struct, frozen=True):
    """The tools of the actor.

    `leases` outlive a failure of the actor. `host` None: disks cannot be measured.
    """

    cri: Cri
    host: HostStats | None
    limits: GcLimits
    leases: ImageLeases
    node: str
    events: ActorRef
    node_status: ActorRef
    meters: Meters = UNMEASURED
    pulls: ActorRef | None = None
    """The actor that keeps the records of pulled images."""
    tracer: Tracer | None = None


class Settled(Message, frozen=True):
    """To itself: workers have had time to lease their images."""


class CarryThrough(Message, frozen=True):
    """To itself: repeat a removal whose answer was lost."""

    image: Image

    def coalesce_key(self) -> Hashable:
        return ("carry", self.image.id)


class BeginImagePass(SoleMessage, frozen=True):
    """To itself: time for a regular pass."""


class _Pass(msgspec.Struct):
    """One pass.

    `askers`: who wants every unneeded image removed. `only_look`: the first look, which starts the ages of images and
    removes nothing. `looked` is None until the look has ended.
    """

    number: int
    askers: tuple[ActorRef, ...] = ()
    only_look: bool = False
    looked: ImagesLooked | None = None
    began_ns: int = 0
    leaving: str = ""
    """Id of the image that is being removed."""
    whole: FsReading | None = None
    now_ns: int = 0
    old: deque[Image] = msgspec.field(default_factory=deque)
    spare: deque[Image] = msgspec.field(default_factory=deque)
    down_to: int | None = None
    """Percent of the file system at which enough has gone; None: it was not too full."""
    to_free: int = 0
    freed: int = 0
    removed: int = 0
    errors: list[str] = msgspec.field(default_factory=list)


class ImageGCActor(Actor):
    mailbox_capacity: ClassVar[int] = 50_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, tools: ImageTools) -> None:
        super().__init__()
        self._tools = tools
        self._leases = tools.leases
        self._lives: dict[str, ImageLife] | None = None
        """None: no look has ended yet."""
        self._settles = self._known = False
        self._is_due = False
        self._askers: dict[str, ActorRef] = {}
        self._pass: _Pass | None = None
        self._spans = Rounds("Images/GarbageCollect", tools.tracer)
        self._failed_before = False
        self._leaving_since: dict[str, int] = {}

    def on_start(self) -> None:
        # Children outlive a restart of this actor, and still report work for its last life.
        for name in (REMOVER, LATE_REMOVER):
            if name not in self.children:
                self.spawn(ImageRemover, self.ref, self._tools.cri, self._tools.host, name=name)
        for image in self._leases.leaving():
            self._carry_through(image)
        self.every(PASS_NS, BeginImagePass())
        self._look(_Pass(self._leases.begin_look(), only_look=True))

    @property
    def leases(self) -> ImageLeases:
        """The leases, for observers of a simulation."""
        return self._leases

    # --- leases -----------------------------------------------------------------------------------------------------

    @handles(LeaseImages)
    def lease(self, message: LeaseImages) -> None:
        if self._leases.lease(message):
            message.worker.tell(ImagesLeased(message.images))

    @handles(ReleaseImages)
    def release(self, message: ReleaseImages) -> None:
        self._leases.release(message.uid)

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        self._leases.keep_only(message.uids)
        if not self._settles:
            self._settles = True
            self.after(SETTLE_NS, Settled())

    @handles(Settled)
    def settled(self, _: Settled) -> None:
        self._known = self._is_due = True
        self._begin()

    # --- a pass -----------------------------------------------------------------------------------------------------

    @handles(BeginImagePass)
    def begin_pass(self, _: BeginImagePass) -> None:
        self._is_due = True
        self._begin()

    @handles(ReclaimImages)
    def reclaim(self, message: ReclaimImages) -> None:
        self._askers[message.asker.path] = message.asker
        self._begin()

    def _begin(self) -> None:
        if self._pass is not None or not self._known or not (self._is_due or self._askers):
            return
        askers = tuple(self._askers.values())
        self._is_due, self._askers = False, {}
        self._look(_Pass(self._leases.begin_look(), askers))

    def _look(self, this: _Pass) -> None:
        self._pass, this.began_ns = this, self.now_ns()
        if not this.only_look:
            self._spans.begin()
        self.children[REMOVER].tell(LookAtImages(this.number, self._spans.context))

    @handles(ImagesLooked)
    def looked(self, message: ImagesLooked) -> None:
        this = self._pass
        if this is None or this.number != message.number:
            return  # for an earlier life of this actor
        if message.error:
            this.errors.append(f"images cannot be looked at: {message.error}")
            self._end(this)
            return
        if self._tools.pulls is not None:
            self._tools.pulls.tell(ImagesSeen(message.images, this.began_ns))
        limits, now_ns = self._tools.limits, self.now_ns()
        sandbox = frozenset(map(short_form, message.sandbox_images))
        needed = self._leases.needed() | rules.needed_by(message.containers) | sandbox
        self._lives = lives = rules.observed(self._lives, message.images, needed, now_ns)
        urgent = bool(this.askers)
        free = rules.candidates(message.images, lives, needed, now_ns, limits.min_age_ns, urgent=urgent)
        if this.only_look:
            self._end(this)
            return
        this.looked, this.whole, this.now_ns = message, message.whole, now_ns
        this.old = deque(rules.too_old(free, lives, now_ns, limits.max_age_ns))
        old = {image.id for image in this.old}
        this.spare = deque(image for image in free if image.id not in old)
        self._check_capacity(this)
        self._go_on(this)

    def _check_capacity(self, this: _Pass) -> None:
        if this.whole is not None and this.whole.capacity <= 0:
            text = "the file system of images says that it has no capacity"
            self._say("InvalidDiskCapacity", text)
            this.errors.append(text)
            this.whole = None

    def _go_on(self, this: _Pass) -> None:
        """Remove the next image, or end the pass."""
        image = self._next_free(this.old)
        if image is None and self._wants_space(this):
            image = self._next_free(this.spare)
        if image is None:
            self._end(this)
            return
        self._leases.leaves(image)
        self._leaving_since[image.id] = self.now_ns()
        this.leaving = image.id
        self.children[REMOVER].tell(RemoveOne(image, self._spans.context))

    def _next_free(self, queue: deque[Image]) -> Image | None:
        """The next image that nobody has leased since the look."""
        while queue:
            image = queue.popleft()
            if self._leases.is_free(image):
                return image
        return None

    def _wants_space(self, this: _Pass) -> bool:
        if this.askers:
            return True
        if this.whole is None:
            return False
        limits = self._tools.limits
        if this.down_to is None and rules.is_over(this.whole, limits):
            this.down_to = limits.low_percent
            this.to_free = rules.bytes_over(this.whole, limits.low_percent)
        return this.down_to is not None and rules.bytes_over(this.whole, this.down_to) > 0

    @handles(OneRemoved)
    def one_removed(self, message: OneRemoved) -> None:
        if message.certain:
            since_ns = self._leaving_since.pop(message.image.id, 0)
            if not message.error and self._tools.pulls is not None:  # before anybody pulls it again
                self._tools.pulls.tell(ImageRemoved(message.image.id, since_ns))
            self._grant(self._leases.has_left(message.image))
        else:
            self._carry_through(message.image)
        this, image = self._pass, message.image
        if this is None or this.leaving != image.id:
            return  # for an earlier life of this actor, or a repeated removal
        this.leaving = ""
        if message.error:
            this.errors.append(f"image {_name_of(image)}: {message.error}")
        else:
            self._count(this, message)
        self._go_on(this)

    def _count(self, this: _Pass, message: OneRemoved) -> None:
        """Count a removed image and the space it freed."""
        image, lives = message.image, self._lives or {}
        old = rules.too_old((image,), lives, this.now_ns, self._tools.limits.max_age_ns)
        self._tools.meters.count(names.IMAGE_GARBAGE_COLLECTED, AGE if old else SPACE)
        self.log.info("image %s was removed", _name_of(image))
        this.removed += 1
        this.freed += _gained(this.whole, message.whole, image)
        this.whole = message.whole or this.whole
        lives.pop(image.id, None)

    def _carry_through(self, image: Image) -> None:
        self.after(AGAIN_NS, CarryThrough(image), key=f"carry {image.id}")

    @handles(CarryThrough)
    def carry_through(self, message: CarryThrough) -> None:
        """Repeat the removal: leases wait while the image may still go."""
        if any(each.id == message.image.id for each in self._leases.leaving()):
            self.children[LATE_REMOVER].tell(RemoveOne(message.image))

    def _grant(self, requests: Iterable[LeaseImages]) -> None:
        for request in requests:
            request.worker.tell(ImagesLeased(request.images))

    # --- its end ----------------------------------------------------------------------------------------------------

    def _end(self, this: _Pass) -> None:
        self._pass = None
        self._leases.end_look()
        if this.removed:
            self._tools.node_status.tell(ImagesChanged())
        if this.down_to is not None and this.whole is not None and rules.bytes_over(this.whole, this.down_to) > 0:
            text = (
                f"Images cannot be collected down to {this.down_to}% of their file system: {this.to_free} bytes were to"
                f" be freed, and {this.freed} could be; the others are in use, pinned or too young"
            )
            self._say("FreeDiskSpaceFailed", text)
            this.errors.append(text)
        if this.only_look:
            self._begin()
            return
        error = "; ".join(this.errors[:3])
        self._spans.end(error)
        for asker in this.askers:
            asker.tell(ImagesReclaimed(this.freed, error))
        if error:
            self.log.warning("%d problems with the removal of unused images: %s", len(this.errors), error)
            if self._failed_before:
                self._say("ImageGCFailed", error)
        self._failed_before = bool(error)
        self._begin()

    def _say(self, reason: str, text: str) -> None:
        event: RecordEvent = node_event(self._tools.node, "Warning", reason, text)
        self._tools.events.tell(event)

    @handles(ChildFailed)
    def child_failed(self, message: ChildFailed) -> None:
        """The failed child has lost its work; the outcome is unknown."""
        for image in self._leases.leaving():
            self._carry_through(image)
        if self._pass is not None and message.name == REMOVER:
            self._pass.errors.append(f"the collection failed: {message.cause}")
            self._end(self._pass)

    def on_failure(self, *failure: Any) -> None:
        """Answer the requesters: the restart loses their pass."""
        askers = dict(self._askers)
        askers |= {asker.path: asker for asker in (self._pass.askers if self._pass is not None else ())}
        for asker in askers.values():
            asker.tell(ImagesReclaimed(0, "the collection failed"))


def _name_of(image: Image) -> str:
    return next(iter((*image.repo_tags, *image.repo_digests)), image.id)


def _gained(before: FsReading | None, after: FsReading | None, image: Image) -> int:
    """Bytes that the removal has freed: measured if possible, else the image's size."""
    if before is None or after is None:
        return image.size
    return max(0, after.available - before.available)
