"""The passes of a pod's volumes: gather, act, report. A part of the `VolumeReconcilerActor`.

A pass begins when the contents of the volumes are known (`contents.py`). It begins steps as long as the plan has any
(`plan.py`). When nothing is under way any more the pod is settled: its worker hears what is mounted and what is not.
Of secrets and files only a digest is kept then. A new pass begins on request, when something that the pod refers to
changes or expires, and after a back-off when something failed. Any news ends the back-off at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from actors.kernel import Actor, ActorRef, Message
from actors.messages.claims import is_claimed
from actors.messages.counts import ContextKey
from actors.messages.events import pod_event
from actors.messages.volumes import PodVolume, PrepareVolumes, VolumesPrepared
from actors.volumes.actual import ActualWorld, Thing, VolumeProblem, back_off_ns
from actors.volumes.claims.rules import groups_of
from actors.volumes.contents import ContentSources, GatheredContents, VolumeContents
from actors.volumes.context_counts import count_contexts
from actors.volumes.desired import ATTACHING, DesiredVolume, desired_volumes, with_places_of, without_secrets
from actors.volumes.devices import VolumeDevices
from actors.volumes.plan import POD_ITSELF, PodPlan, VolumeStep, is_for_one_pod, plan_wanted
from actors.volumes.state import is_usable
from actors.volumes.wants import wants_of
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.volumes.capability import NodeVolumes, VolumePlace
from runtime.volumes.pod_volumes import keeps_labels

SECOND_NS = 1_000_000_000
REFRESH_AT_LEAST_NS = 5 * SECOND_NS
"""The shortest time to a renewal, whatever a token says."""
RESYNC_JITTER = 0.5
_THE_POD_ITSELF = frozenset({POD_ITSELF})
NO_VOLUMES = VolumesPrepared(FrozenMap())


class RenewalDue(Message, frozen=True):
    """To the actor itself: begin another pass for this pod."""

    uid: str


class _Pod(msgspec.Struct):
    """A pod that wants volumes.

    `asked`: its worker waits for an answer; `answer`: the last one. `passing`: contents are known and steps may begin.
    `attempted`: names of the volumes that this pass tries; only their troubles become events.
    `failures`, `retry_at_ns`: the back-off while others have to change something.
    `refers`, `refresh_wall_ns`: as in `GatheredContents`.
    """

    worker: ActorRef
    pod: Pod
    asked: bool = False
    answer: VolumesPrepared | None = None
    volumes: tuple[DesiredVolume, ...] = ()
    passing: bool = False
    attempted: frozenset[str] = frozenset()
    failures: int = 0
    retry_at_ns: int = 0
    refers: bool = False
    refresh_wall_ns: int = 0


class VolumePasses:
    """See the module. `begin` begins a step for a pod."""

    def __init__(
        self,
        actor: Actor,
        volumes: NodeVolumes,
        actual: ActualWorld,
        devices: VolumeDevices,
        events: ActorRef,
        sources: ContentSources,
        begin: Callable[[VolumeStep, Pod], None],
    ) -> None:
        self.contents = VolumeContents(actor, sources)
        self._actor = actor
        self._volumes = volumes
        self._actual = actual
        self._devices = devices
        self._events = events
        self._resync_ns = sources.resync_ns
        self._contexts = sources.contexts
        self._begin = begin
        self._pods: dict[str, _Pod] = {}
        self._unsettled: set[str] = set()
        self._in_conflict: set[str] = set()

    def __contains__(self, uid: str) -> bool:
        """Whether a pod wants volumes."""
        return uid in self._pods

    def uids(self) -> Collection[str]:
        """The pods that want volumes."""
        return self._pods.keys()

    def never_had_claims(self, uid: str) -> bool:
        """Whether the pod surely has no claimed volume. The volumes of a pod never change."""
        known = self._pods.get(uid)
        return known is not None and not any(map(is_claimed, known.pod.spec.volumes))

    def with_trust_anchors(self) -> list[str]:
        """The pods with files that are made of ClusterTrustBundles."""
        return sorted(uid for uid, known in self._pods.items() if wants_of(known.pod).anchors)

    def with_certificates(self) -> list[str]:
        """The pods with certificates of their own."""
        return sorted(uid for uid, known in self._pods.items() if wants_of(known.pod).certificates)

    # --- what begins a pass -----------------------------------------------------------------------------------------

    def want(self, message: PrepareVolumes) -> None:
        """Prepare the volumes of a pod, or prepare them again."""
        pod = message.pod
        uid = pod.metadata.uid
        known = self._pods.setdefault(uid, _Pod(message.worker, pod))
        known.worker, known.pod = message.worker, pod
        known.asked = known.asked or not message.renewal
        if message.renewal or not self.contents.is_gathering(pod):
            self.try_now(uid)

    def forget(self, uid: str) -> None:
        """The pod wants no volumes any more."""
        self.contents.forget(uid)
        known = self._pods.pop(uid, None)
        if known is not None:
            self.contents.release(known.pod)
            self._actor.cancel_timer(uid)
            self._unsettled.discard(uid)
            self._in_conflict.discard(uid)
            self._devices.desired(uid, ())

    def try_now(self, uid: str) -> None:
        """Begin a pass without back-off, because there is news."""
        known = self._pods.get(uid)
        if known is None:
            return
        known.retry_at_ns = 0
        for thing in self._things_of(uid, known.volumes) if uid in self._actual.pods else ():
            thing.retry_at_ns = 0
        self.gather(uid)

    def _things_of(self, uid: str, volumes: Iterable[DesiredVolume]) -> list[Thing]:
        things = self._actual.pod(uid)
        on_node = self._actual.devices
        devices = sorted({volume.at.device for volume in volumes if volume.at is not None}) if on_node else ()
        return [things.directory, *things.volumes.values(), *[on_node[name] for name in devices if name in on_node]]

    def gather(self, uid: str) -> None:
        """Gather the contents of the pod's volumes."""
        known = self._pods.get(uid)
        if known is not None:
            if known.answer is not None:
                # In case a question is lost. The end of the pass sets another time.
                self._actor.after(self._refresh_in_ns(0), RenewalDue(uid), key=uid)
            self.go_on(self.contents.gather(known.pod))

    def go_on(self, gathered: GatheredContents | None) -> None:
        """Begin a pass with these contents, or update the pass under way."""
        known = self._pods.get(gathered.pod.metadata.uid) if gathered is not None else None
        if gathered is None or known is None:
            return
        uid = gathered.pod.metadata.uid
        volumes = desired_volumes(gathered.pod, gathered, self._volumes.locate, self._contexts)
        known.volumes = with_places_of(volumes, known.volumes)
        known.refers, known.refresh_wall_ns = gathered.refers, gathered.refresh_wall_ns
        known.attempted = self._due(known) if volumes else _THE_POD_ITSELF
        known.passing = True
        self._unsettled.add(uid)
        self._devices.desired(uid, known.volumes)
        self.advance(uid)

    def _due(self, known: _Pod) -> frozenset[str]:
        """Names of the volumes whose back-off is over, and the pod itself."""
        now_ns = self._actor.now_ns()
        due = {
            volume.name
            for volume in known.volumes
            if now_ns >= (known.retry_at_ns if volume.waits is not None else self._retry_at_ns(volume))
        }
        return _THE_POD_ITSELF | due

    def _retry_at_ns(self, volume: DesiredVolume) -> int:
        assert volume.at is not None, "what waits for nobody is located"
        things = self._actual.pod(volume.at.place.uid)
        thing, device = things.volumes.get(volume.at.place), self._actual.devices.get(volume.at.device)
        return max(each.retry_at_ns for each in (things.directory, thing, device) if each is not None)

    # --- a pass -----------------------------------------------------------------------------------------------------

    def advance(self, uid: str) -> None:
        """Begin what can begin now for a pod; once nothing is under way, report the result."""
        known = self._pods.get(uid)
        if known is None or not known.passing:
            return
        plan = plan_wanted(uid, known.volumes, self._actual, self._actor.now_ns())
        while plan.steps:
            for step in plan.steps:
                self._begin(step, known.pod)
            if plan.begins_calls:
                return  # `advance` is called again when a call ends
            plan = plan_wanted(uid, known.volumes, self._actual, self._actor.now_ns())
        if not plan.busy:
            self._settle(uid, known, plan)

    def advance_all(self) -> None:
        """Advance every pod that is not settled."""
        for uid in sorted(self._unsettled):
            self.advance(uid)

    def volume_is_gone(self) -> None:
        """A pod has released a volume that others may be waiting for."""
        for uid in sorted(self._in_conflict):
            self.try_now(uid)

    def _settle(self, uid: str, known: _Pod, plan: PodPlan) -> None:
        known.passing = False
        for name, trouble in plan.troubles.items():
            if name in known.attempted and trouble.reason:
                path = next((each.spec.field_path for each in known.volumes if each.name == name), "")
                self._events.tell(pod_event(known.pod, "Warning", trouble.reason, text_of(name, trouble), path))
        answer = answer_of(known.volumes, plan) if known.volumes or plan.troubles else NO_VOLUMES
        if known.asked or answer != known.answer:
            known.worker.tell(answer)
        known.asked, known.answer = False, answer
        if known.volumes:
            known.volumes = tuple([without_secrets(volume) for volume in known.volumes])
        self._wake_later(uid, known, plan)
        if not plan.troubles:
            self._unsettled.discard(uid)

    def _wake_later(self, uid: str, known: _Pod, plan: PodPlan) -> None:
        """Set the time of the next pass: for failures, for what others have to change, for what expires."""
        now_ns = self._actor.now_ns()
        self._in_conflict.discard(uid)
        if not plan.waiting:
            known.failures = known.retry_at_ns = 0
        else:
            if any(each.name in plan.waiting and is_for_one_pod(each) for each in known.volumes):
                self._in_conflict.add(uid)
            if plan.waiting & known.attempted:
                known.retry_at_ns = now_ns + back_off_ns(known.failures)
                known.failures += 1
        at_ns = [*filter(None, (plan.wake_ns, known.retry_at_ns))]
        if known.refers:
            at_ns.append(now_ns + self._refresh_in_ns(known.refresh_wall_ns))
        if at_ns:
            self._actor.after(max(min(at_ns) - now_ns, 0), RenewalDue(uid), key=uid)
        else:
            self._actor.cancel_timer(uid)

    def _refresh_in_ns(self, refresh_wall_ns: int) -> int:
        delay_ns = int(self._resync_ns * (1 + RESYNC_JITTER * self._actor.chance.random()))
        if refresh_wall_ns:
            delay_ns = min(delay_ns, max(refresh_wall_ns - self._actor.wall_ns(), REFRESH_AT_LEAST_NS))
        return delay_ns

    # --- questions --------------------------------------------------------------------------------------------------

    def where_is(self, uid: str, name: str) -> tuple[VolumePlace, str] | None:
        """The place and the host path of a volume that containers can use now; otherwise None."""
        known = self._pods.get(uid)
        for volume in known.volumes if known is not None else ():
            if volume.name == name and volume.at is not None:
                thing = self._actual.pod(uid).volumes.get(volume.at.place)
                return (volume.at.place, thing.host_path) if thing is not None and is_usable(thing.life) else None
        return None

    def of_drivers(self) -> Iterator[tuple[VolumePlace, Pod, str]]:
        """Place, pod and name of every volume of a storage driver that containers can use now."""
        for uid in sorted(self._pods):
            known = self._pods[uid]
            for volume in known.volumes:
                if volume.at is not None and volume.spec.source == "csi" and self.where_is(uid, volume.name):
                    yield volume.at.place, known.pod, volume.name

    def volumes_now(self, uid: str, abnormal: Mapping[VolumePlace, bool]) -> Iterator[PodVolume]:
        """The volumes that containers of a pod can use now. `abnormal`: what is known of their health."""
        for volume in self._pods[uid].volumes:
            found = self.where_is(uid, volume.name)
            if found is not None and volume.at is not None:
                claim = volume.spec.claim.metadata.name if volume.spec.claim is not None else ""
                place, block = volume.at.place, volume.spec.block
                yield PodVolume(uid, volume.name, place.plugin, found[1], claim, block, abnormal.get(place))

    def count_contexts(self) -> Mapping[ContextKey, int]:
        """About the SELinux labels of volumes; nothing on a node without SELinux."""
        if self._contexts is None:
            return {}
        return count_contexts(volume for uid in sorted(self._pods) for volume in self._pods[uid].volumes)

    def count_by_plugin(self) -> Mapping[str, int]:
        """How many volumes pods want here, as far as their plugin is known."""
        every = (volume.at for known in self._pods.values() for volume in known.volumes)
        return Counter(at.place.plugin for at in every if at is not None)


def answer_of(volumes: Sequence[DesiredVolume], plan: PodPlan) -> VolumesPrepared:
    """The answer to the worker at the end of a pass."""
    # A usable volume is no error: it keeps its old content, even if the new one failed.
    errors = [text_of(name, trouble) for name, trouble in plan.troubles.items() if name not in plan.host_paths]
    groups = groups_of(each.spec for each in volumes)
    foreign = frozenset(each.name for each in volumes if keeps_labels(each.spec)) & plan.host_paths.keys()
    return VolumesPrepared(FrozenMap(plan.host_paths), "; ".join(errors), groups, foreign, _refusal(volumes, plan))


def _refusal(volumes: Sequence[DesiredVolume], plan: PodPlan) -> str:
    """Why the node refuses the pod, in a kubelet's words; empty when it does not."""
    missing = {name: trouble for name, trouble in plan.troubles.items() if name not in plan.host_paths}
    if not any(trouble.full for trouble in missing.values()):
        return ""
    unmounted = [each.name for each in volumes if each.name not in plan.host_paths]
    unattached = [name for name, trouble in missing.items() if trouble.step == ATTACHING]
    unknown = [each.name for each in volumes if each.name in missing and each.at is None]
    lists = [" ".join(sorted(each)) for each in (unmounted, unattached, {*unknown} - {*unattached})]
    return (
        f"Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[{lists[0]}], "
        f"unattached volumes=[{lists[1]}], failed to process volumes=[{lists[2]}]: context deadline exceeded"
    )


def text_of(name: str, trouble: VolumeProblem) -> str:
    """The error of a volume, or of the pod's directory, as text for people."""
    if name == POD_ITSELF:
        return f"the directory of the pod cannot be made: {trouble.text}"
    return f'{trouble.step} failed for volume "{name}" : {trouble.text}'
