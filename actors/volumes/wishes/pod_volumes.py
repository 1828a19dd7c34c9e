"""`PodVolumesActor`: what one pod wants of its volumes.

It is a child of the `VolumeReconcilerActor`, which makes them.

It works in passes. A pass gathers what the volumes show (`contents.py`), makes their content (`payloads.py`), and
orders the volumes that are not as they should be (`orders.py`). When the last order is settled, so is the pod: its
worker hears what is mounted and what is not, and people get events. A new pass begins on request, when something that
the pod refers to changes or expires, and after a back-off when something failed. Any news ends the back-off at once.

All that grows with the size of a pod is done here, in slices, so that it takes no turn of another pod. Of secrets and
files only a digest is kept at rest. If this actor fails, the reconciler repeats the worker's request, and it orders
everything again. If the reconciler fails, `OrdersLost` has the same effect.
"""

from __future__ import annotations

from collections.abc import Coroutine
from itertools import islice
from typing import Any, ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, Message, handles
from actors.messages.claims import ClaimsChanged, ClaimsResolved
from actors.messages.events import pod_event
from actors.messages.references import (
    ObjectsRead,
    PodCertificatesRead,
    PodCertificatesStarted,
    TokenIssued,
    TokenRefused,
    TrustBundlesChanged,
    TrustBundlesRead,
)
from actors.messages.volumes import PrepareSubPaths, PrepareVolumes, VolumesPrepared
from actors.volumes.actual import back_off_ns
from actors.volumes.calls import CALL_LIMIT_NS
from actors.volumes.desired import DesiredVolume, with_place_of, without_secrets
from actors.volumes.orders import (
    ORDERS_AT_ONCE,
    AllocatableRead,
    OrdersLost,
    OrderVolumes,
    TryAgain,
    VolumeOutcome,
    VolumesSettled,
)
from actors.volumes.plan import POD_ITSELF
from actors.volumes.problems import SHOWN_AT_MOST
from actors.volumes.wishes.answers import answer_of, text_of, troubles_of
from actors.volumes.wishes.contents import (
    ContentSources,
    GatheredContents,
    GatheringLate,
    VolumeContents,
    claimed_volumes,
)
from actors.volumes.wishes.desires import Desires
from actors.volumes.wishes.payloads import PodContents, VolumeContent
from actors.volumes.wishes.sub_paths import SubPathsMounted, VolumeSubPaths
from actors.volumes.wishes.wants import wants_of
from config.objects import Pod
from runtime.volumes.capability import NodeVolumes, VolumePlace
from runtime.volumes.pod_volumes import specs_of
from runtime.volumes.sub_path import SubPaths

SECOND_NS = 1_000_000_000
REFRESH_AT_LEAST_NS = 5 * SECOND_NS
"""The shortest time to a renewal, whatever a token says."""
RESYNC_JITTER = 0.5
SILENCE_NS = CALL_LIMIT_NS + 7 * SECOND_NS
"""How long nothing is heard of orders before they are repeated, in case a message was lost.

A call that hangs is reported before that.
"""


_NONE: frozenset[str] = frozenset()


class RenewalDue(Message, frozen=True):
    """To the actor itself: begin another pass."""


class PodVolumesTools(msgspec.Struct, frozen=True):
    """What the children of one reconciler share.

    `volumes`: only asked where they are; `sub_paths`: None for none.
    """

    reconciler: ActorRef
    volumes: NodeVolumes
    events: ActorRef
    sources: ContentSources
    sub_paths: SubPaths | None = None


class _Pass(msgspec.Struct):
    """A pass.

    `due`: no back-off holds while others have to change something. `open`: names that were ordered.

    `claimed`: the pod has claims. `fresh`: no back-off applies. `news_ns`: when an order was settled last.
    """

    number: int
    pod: Pod
    due: bool
    claimed: bool
    fresh: bool
    news_ns: int
    open: set[str]


class PodVolumesActor(Actor):
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS
    rests_unasked: ClassVar[bool] = True

    def __init__(self, tools: PodVolumesTools) -> None:
        super().__init__()
        self._tools = tools
        self._contents = VolumeContents(self, tools.sources, tools.reconciler)
        self._sub_paths: VolumeSubPaths | None = None
        self._worker: ActorRef | None = None
        self._pod: Pod | None = None
        self._asked = False
        self._answer: VolumesPrepared | None = None
        self._number = self.now_ns()  # no two lives of the actor have a number in common
        self._pass: _Pass | None = None
        self._outcomes: dict[str, VolumeOutcome] = {}
        self._known = False
        """Whether the reconciler knows of all outcomes."""
        self._fresh = False
        """Whether no back-off applies to the next pass."""
        self._failures = 0
        self._retry_at_ns = 0
        """The back-off while others have to change something."""
        self._refers = False
        self._refresh_wall_ns = 0

    # --- what begins a pass -----------------------------------------------------------------------------------------

    @handles(PrepareVolumes)
    def prepare_volumes(self, message: PrepareVolumes) -> Coroutine[Any, Any, None] | None:
        self._worker, self._pod = message.worker, message.pod
        self._asked = self._asked or not message.renewal
        if not message.renewal and self._contents.is_gathering(message.pod):
            return None
        return self._try_now()

    @handles(TryAgain, ClaimsChanged)
    def try_again(self, _: TryAgain | ClaimsChanged) -> Coroutine[Any, Any, None] | None:
        return self._try_now()

    @handles(OrdersLost)
    def orders_lost(self, _: OrdersLost) -> Coroutine[Any, Any, None] | None:
        self._known = False
        return self._try_now()

    @handles(TrustBundlesChanged)
    def trust_bundles_changed(self, _: TrustBundlesChanged) -> Coroutine[Any, Any, None] | None:
        concerned = self._pod is not None and wants_of(self._pod).anchors
        return self._try_now() if concerned else None

    @handles(PodCertificatesStarted)
    def pod_certificates_started(self, _: PodCertificatesStarted) -> Coroutine[Any, Any, None] | None:
        concerned = self._pod is not None and wants_of(self._pod).certificates
        return self._try_now() if concerned else None

    @handles(RenewalDue)
    def renewal_due(self, _: RenewalDue) -> Coroutine[Any, Any, None] | None:
        silent_ns = self.now_ns() - self._pass.news_ns if self._pass is not None else SILENCE_NS
        if silent_ns < SILENCE_NS:
            self.after(SILENCE_NS - silent_ns, RenewalDue())
            return None
        return self._gather()

    def _try_now(self) -> Coroutine[Any, Any, None] | None:
        """Begin a pass without back-off, because there is news."""
        self._retry_at_ns, self._fresh = 0, True
        return self._gather()

    def _gather(self) -> Coroutine[Any, Any, None] | None:
        if self._pod is None:
            return None
        if self._answer is not None:
            # In case a question is lost. The end of the pass sets another time.
            self.after(self._refresh_in_ns(0), RenewalDue())
        return self._go_on(self._contents.gather(self._pod))

    # --- what was gathered ------------------------------------------------------------------------------------------

    @handles(ObjectsRead)
    def objects_read(self, message: ObjectsRead) -> Coroutine[Any, Any, None] | None:
        return self._go_on(self._contents.objects_read(message))

    @handles(TokenIssued)
    def token_issued(self, message: TokenIssued) -> Coroutine[Any, Any, None] | None:
        return self._go_on(self._contents.token_issued(message))

    @handles(TokenRefused)
    def token_refused(self, message: TokenRefused) -> Coroutine[Any, Any, None] | None:
        return self._go_on(self._contents.token_refused(message))

    @handles(TrustBundlesRead)
    def trust_bundles_read(self, message: TrustBundlesRead) -> Coroutine[Any, Any, None] | None:
        return self._go_on(self._contents.trust_bundles_read(message))

    @handles(PodCertificatesRead)
    def pod_certificates_read(self, message: PodCertificatesRead) -> Coroutine[Any, Any, None] | None:
        return self._go_on(self._contents.pod_certificates_read(message))

    @handles(ClaimsResolved)
    def claims_resolved(self, message: ClaimsResolved) -> Coroutine[Any, Any, None] | None:
        return self._go_on(self._contents.claims_resolved(message))

    @handles(AllocatableRead)
    def allocatable_read(self, message: AllocatableRead) -> Coroutine[Any, Any, None] | None:
        return self._go_on(self._contents.allocatable_read(message))

    @handles(GatheringLate)
    def gathering_late(self, message: GatheringLate) -> Coroutine[Any, Any, None] | None:
        return self._go_on(self._contents.late(message))

    def _go_on(self, gathered: GatheredContents | None) -> Coroutine[Any, Any, None] | None:
        return None if gathered is None else self._order_all(gathered)

    # --- a pass -----------------------------------------------------------------------------------------------------

    async def _order_all(self, gathered: GatheredContents) -> None:
        """Order every volume that is not as it should be. Others get turns after each batch."""
        pod, sources, before = gathered.pod, self._tools.sources, self._pass
        this = self._pass = self._new_pass(pod)
        # Orders of an earlier pass may have changed a volume to what is not wanted any more.
        doubtful = before.open if before is not None else _NONE
        self._refers, self._refresh_wall_ns = gathered.refers, gathered.refresh_wall_ns
        contents = PodContents(pod, gathered.answers, sources.limit_bytes)
        desires = Desires(gathered, self._tools.volumes.locate, sources.contexts, self.observe)
        batch: list[DesiredVolume] = []
        for number, bare in enumerate(specs_of(pod), 1):
            content = await self._content_of(bare.name, contents) if bare.name in contents.names() else None
            earlier = self._outcomes.get(bare.name)
            volume = with_place_of(desires.volume(bare, content), earlier.volume if earlier is not None else None)
            if bare.name in doubtful or not self._is_there(volume, earlier):
                batch.append(volume)
            if number % ORDERS_AT_ONCE == 0:
                if batch:
                    self._order(this, batch)
                batch = []
                await self.sleep(0)
        if batch or not (specs_of(pod) or self._is_there(None, self._outcomes.get(POD_ITSELF))):
            self._order(this, batch)
        if this.open:
            self.after(SILENCE_NS, RenewalDue())
        else:
            self._settle(this)

    def _new_pass(self, pod: Pod) -> _Pass:
        self._number += 1
        now_ns, fresh, self._fresh = self.now_ns(), self._fresh, False
        return _Pass(self._number, pod, now_ns >= self._retry_at_ns, bool(claimed_volumes(pod)), fresh, now_ns, set())

    async def _content_of(self, name: str, contents: PodContents) -> VolumeContent:
        filling = contents.fill(name)
        while True:
            try:
                next(filling)
            except StopIteration as done:
                content: VolumeContent = done.value
                return content
            await self.sleep(0)

    def _is_there(self, volume: DesiredVolume | None, before: VolumeOutcome | None) -> bool:
        """Whether an earlier pass has settled this very volume."""
        if before is None or before.trouble is not None or not self._known:
            return False
        return before.volume is None if volume is None else before.volume == without_secrets(volume)

    def _order(self, this: _Pass, volumes: list[DesiredVolume]) -> None:
        """Order some volumes, or the pod's directory alone."""
        this.open.update([each.name for each in volumes] or (POD_ITSELF,))
        if self._worker is not None:
            order = OrderVolumes(self._worker, this.pod, this.number, tuple(volumes), this.fresh, this.claimed)
            self._tools.reconciler.tell(order)

    @handles(VolumesSettled)
    def volumes_settled(self, message: VolumesSettled) -> None:
        this = self._pass
        if this is None or message.number != this.number:
            return
        this.news_ns = self.now_ns()
        for outcome in message.outcomes:
            this.open.discard(outcome.name)
            self._outcomes[outcome.name] = outcome
        if not this.open:
            self._settle(this)

    def _settle(self, this: _Pass) -> None:
        """Nothing is under way any more: tell the worker and people, and set the time of the next pass."""
        self._pass, self._known = None, True
        names = [each.name for each in specs_of(this.pod)] or [POD_ITSELF]
        self._outcomes = {name: self._outcomes[name] for name in names if name in self._outcomes}
        self._tell_people(this)
        answer = answer_of(self._outcomes.values())
        if self._worker is not None and (self._asked or answer != self._answer):
            self._worker.tell(answer)
        self._asked, self._answer = False, answer
        self._wake_later(this)

    def _tell_people(self, this: _Pass) -> None:
        """Send an event for each trouble that this pass has met, the first of many."""
        met = (
            (each, trouble)
            for each, trouble in troubles_of(self._outcomes.values())
            if trouble.reason and (this.due if each.waits else each.tried)
        )
        for outcome, trouble in islice(met, SHOWN_AT_MOST):
            path = outcome.volume.spec.field_path if outcome.volume is not None else ""
            text = text_of(outcome.name, trouble)
            self._tools.events.tell(pod_event(this.pod, "Warning", trouble.reason, text, path))

    def _wake_later(self, this: _Pass) -> None:
        """Set the time of the next pass: for failures, for what others have to change, for what expires."""
        now_ns = self.now_ns()
        troubled = [each for each, _ in troubles_of(self._outcomes.values())]
        if not any(each.waits for each in troubled):
            self._failures = self._retry_at_ns = 0
        elif this.due:
            self._retry_at_ns = now_ns + back_off_ns(self._failures)
            self._failures += 1
        at_ns = [*(each.retry_at_ns for each in troubled if each.retry_at_ns), *filter(None, (self._retry_at_ns,))]
        if self._refers:
            at_ns.append(now_ns + self._refresh_in_ns(self._refresh_wall_ns))
        if at_ns:
            self.after(max(min(at_ns) - now_ns, 0), RenewalDue())
        else:
            self.cancel_timer(RenewalDue)

    def _refresh_in_ns(self, refresh_wall_ns: int) -> int:
        delay_ns = int(self._tools.sources.resync_ns * (1 + RESYNC_JITTER * self.chance.random()))
        if refresh_wall_ns:
            delay_ns = min(delay_ns, max(refresh_wall_ns - self.wall_ns(), REFRESH_AT_LEAST_NS))
        return delay_ns

    # --- parts of volumes -------------------------------------------------------------------------------------------

    @handles(PrepareSubPaths)
    def prepare_sub_paths(self, message: PrepareSubPaths) -> None:
        if self._sub_paths is None and self._tools.sub_paths is not None:
            self._sub_paths = VolumeSubPaths(self, self._tools.sub_paths, self._where_is)
        if self._sub_paths is not None:
            self._sub_paths.prepare(message)

    @handles(SubPathsMounted)
    def sub_paths_mounted(self, message: SubPathsMounted) -> None:
        if self._sub_paths is not None:
            self._sub_paths.mounted(message)

    def _where_is(self, name: str) -> tuple[VolumePlace, str] | None:
        """The place and the host path of a volume that containers can use now; otherwise None."""
        outcome = self._outcomes.get(name)
        if outcome is None or not outcome.usable or outcome.volume is None or outcome.volume.at is None:
            return None
        return outcome.volume.at.place, outcome.host_path
