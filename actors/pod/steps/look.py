"""Gates of the runtime: what it shows of the pod is seen and published.

It answers; the network of the node is ready.

A look that fails raises, and what was known before then stays. The first look recalls what an earlier worker has
decided about the containers. A pod whose phase is final goes no further.

A status is published only once the node has taken or refused the pod. So a refused pod never seems to begin.
The status is computed only when one of its inputs has changed: most looks on the way to Running show nothing new.

The termination message of each container is read once, on the disk lane, before its end is shown. If the disk hangs,
the message is lost, not the status.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.kernel import Actor
from actors.messages.status import PodStatusChanged
from actors.model.observed import ObservedContainer, ObservedPod
from actors.pod.container_stops import ContainerStops
from actors.pod.history import PodHistory
from actors.pod.one_pass import CONTINUE, WAIT, Outcome, PassWait, PodPass
from actors.pod.post_starts import PostStarts
from actors.pod.probes import PodProbes
from actors.pod.runtime import PodObserver
from actors.pod.services import PodServices
from actors.pod.view import PodView
from actors.pod_rules.lifecycle import is_termination_requested
from actors.pod_rules.restart_all import in_progress
from actors.pod_rules.restart_rules import coming_again
from actors.pod_status.api_status import NO_WAITING, NOT_FORCED, compute_pod_status, family_differs
from actors.pod_status.claim_health import with_claim_health
from actors.pod_status.conditions import TERMINAL
from actors.pod_status.container_statuses import ContainerWaiting
from actors.pod_status.device_health import with_device_health
from actors.pod_status.final import final_status
from actors.start.cri_configs import (
    LOG_TAIL_BYTES,
    LOG_TAIL_LINES,
    MESSAGE_LIMIT_BYTES,
    falls_back_to_log,
    joined_message,
    message_share_bytes,
)
from config.objects import Pod, PodStatus
from config.pods.identity import has_ended, has_probes, is_static, restarts_all_containers
from runtime.cri import CriError

PROBES_RETRY_NS = 1_000_000_000
"""Retry in case the answer, which begins a pass by itself, is lost."""
RUNTIME_RETRY_NS = 5_000_000_000
NETWORK_RETRY_NS = 1_000_000_000
_NOBODY: frozenset[str] = frozenset()


async def runtime_answers(this: PodPass) -> Outcome:
    """Wait while the runtime does not answer.

    When it comes back, the worker is told and begins a pass.
    """
    error = this.runtime.error
    if not error:
        return CONTINUE
    text = f"the container runtime is away: {error}"
    return PassWait(text, "it goes on when the runtime is back", retry_ns=RUNTIME_RETRY_NS)


async def network_ready(this: PodPass) -> Outcome:
    """Wait for the runtime's network, unless the pod uses the host's network."""
    error = this.runtime.network_error
    if not error or this.pod.spec.host_network:
        return CONTINUE
    text = f"network is not ready: {error}"
    return PassWait(text, "its sandbox is made when it is ready", "NetworkNotReady", NETWORK_RETRY_NS, warn=True)


class PodLook:
    def __init__(
        self,
        worker: Actor,
        services: PodServices,
        view: PodView,
        history: PodHistory,
        observer: PodObserver,
        probes: PodProbes,
        stops: ContainerStops,
        post_starts: PostStarts,
    ) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._history = history
        self._observer = observer
        self._probes = probes
        self._stops = stops
        self._post_starts = post_starts
        self._settled: ObservedPod | None = None
        """The last look that the ends and hooks in progress know of."""
        self._removed = _NOBODY
        self._waits_to_be_taken = False
        self._computed: PodStatus | None = None
        self._computed_from: tuple[object, ...] = ()
        self._looked_at: ObservedPod | None = None
        """The look whose messages have all been read. `_with_messages` is that look with its messages."""
        self._with_messages = ObservedPod(view.uid)

    async def step(self, this: PodPass) -> Outcome:
        """Set `PodPass.observed` and `PodPass.phase`. Raises CriError.

        After a restart of the worker, wait first for the probe runner: it alone knows which containers are ready.
        """
        if has_probes(this.pod.spec) and self._probes.unheard():
            return PassWait(retry_ns=PROBES_RETRY_NS)
        try:
            this.observed = await self.see()
        except CriError:
            self._publish_unseen()
            raise
        if self._is_yet_to_be_taken(this.pod, this.observed):
            return CONTINUE
        this.phase = await self.publish(this.observed)
        return WAIT if this.phase in TERMINAL else CONTINUE

    def _is_yet_to_be_taken(self, pod: Pod, observed: ObservedPod) -> bool:
        """Whether the node may still refuse the pod.

        If that takes more than a pass, the pod is shown as its source has it.
        """
        view = self._view
        has_begun = observed.sandboxes or view.published is not None or has_ended(pod)
        if view.is_admission_decided or has_begun or view.forced != NOT_FORCED:
            return False
        self._history.seen(observed)
        if self._waits_to_be_taken:
            self._publish_unseen()
        self._waits_to_be_taken = True
        return True

    async def see(self) -> ObservedPod:
        """The whole pod in the runtime, as it is now. Raises CriError; what was known before then stays.

        The first look recalls what an earlier worker has decided. Each look updates the ends and hooks in progress.
        """
        view, stops = self._view, self._stops
        if self._observer.in_doubt():
            await self._observer.look()
        observed = view.seen()
        if not view.decided.recalled:
            if observed.sandboxes:
                await view.decided.recall()
            else:
                view.decided.recalled = True  # nothing was decided about a pod that is new
            observed = view.seen()
        if observed is not self._settled or stops.stop_unsettled:
            if stops.ends or view.decided.ends or view.decided.killed:
                stops.settle(observed)
            if self._post_starts.hooked:
                self._post_starts.settle(observed)
            observed = self._settled = view.seen()
        return observed

    # --- the status -------------------------------------------------------------------------------------------------

    async def publish(self, observed: ObservedPod, *, last: bool = False) -> str:
        """Compute and publish the status; return the phase. Nothing is published for an orphan.

        `last`: nothing of the pod runs, and nothing will.
        """
        view = self._view
        pod = view.pod
        if pod is None:
            self._history.seen(observed)
            return ""
        if observed is not self._looked_at:
            unread = self._unread(observed)
            for container in unread:
                view.messages[container.id] = await self._message_of(pod, container)
            if unread:
                self._forget_others(observed)
            self._looked_at, self._with_messages = observed, with_messages(observed, view.messages)
        shown = self._with_messages
        self._history.seen(shown)
        ended = is_termination_requested(view.life)
        probed = has_probes(pod.spec)
        if probed:
            self._probes.observe(pod, observed, view.published, ending=ended)
        status = self._status(pod, shown, ended)
        if probed and not last and view.published is None and self._probes.undecided():
            self._publish_unseen()
            return status.phase or ""
        view.publish(final_status(pod, status) if last else status, final=last)
        return status.phase or ""

    def _status(self, pod: Pod, observed: ObservedPod, ended: bool) -> PodStatus:
        """The status from the current knowledge.

        A status that was just published is no new input: computing again would give the same.
        """
        view = self._view
        coming = (
            self._restarted_with_all(pod, observed) if restarts_all_containers(pod.spec) or self._removed else _NOBODY
        )
        if view.decided.killed:
            coming |= coming_again(pod, observed, view.decided.killed)
        waiting, probes, forced = tuple(view.waiting.items()), self._probes.results, view.forced
        published, node, devices = view.published, view.node, view.devices
        told, resizes = view.told, view.resizes
        claimed = view.claimed
        made_of = (pod, observed, waiting, probes, ended, forced, coming, node, told, resizes, devices, claimed)
        if published is not None:
            if published is self._computed and made_of == self._computed_from:
                return published
            if family_differs(published.host_ip, node.ips):
                text = f"the host's address was {published.host_ip}, the node's first one is {node.ips[0]} now"
                view.say("Warning", "HostIPsIPFamilyMismatch", text)
        self._computed_from = made_of
        status = compute_pod_status(
            pod,
            observed,
            previous=published,
            wall_ns=self._worker.wall_ns(),
            node=node,
            waiting={name: ContainerWaiting(reason, text) for name, (reason, text) in waiting}
            if waiting
            else NO_WAITING,
            probes=probes,
            ended=ended,
            forced=forced,
            coming=coming,
            told=told,
            resizes=resizes,
        )
        if devices is not None:
            status = with_device_health(status, devices)
        if claimed is not None:
            status = with_claim_health(pod, status, claimed, messages=node.device_messages)
        self._computed = status
        return status

    def _restarted_with_all(self, pod: Pod, observed: ObservedPod) -> frozenset[str]:
        """Names of containers that were removed for a restart of all and do not exist again yet."""
        if in_progress(pod, observed, self._view.published):
            self._removed = frozenset(each.name for each in (*pod.spec.init_containers, *pod.spec.containers))
        elif self._removed:
            self._removed = frozenset(name for name in self._removed if observed.newest(name) is None)
        return self._removed

    def _publish_unseen(self) -> None:
        """The runtime, a probe or the admission has not answered.

        A pod without a published status is shown as its source has it.

        A static pod has no phase then: it may have been running since before the agent restarted. Nothing of this is
        written to the API: a late write of the earlier agent may say more.
        """
        pod = self._view.pod
        if pod is not None and self._view.published is None:
            status = PodStatus() if is_static(pod) else pod.status or PodStatus()
            self._services.status_manager.tell(PodStatusChanged(pod, status, seen=False, life=self._view.born_ns))

    def publish_final(self) -> None:
        """Publish the final status unless that is done: nothing of the pod runs, and nothing will."""
        view = self._view
        if view.pod is not None and view.published is not None and not view.final:
            view.publish(final_status(view.pod, view.published), final=True)

    def _unread(self, observed: ObservedPod) -> list[ObservedContainer]:
        """Ended containers whose termination message may exist and has not been read. Each is read once."""
        known = self._view.messages
        return [
            each for each in observed.containers() if each.exited and each.id not in known and each.termination_file
        ]

    def _forget_others(self, observed: ObservedPod) -> None:
        """Drop the termination messages of removed containers.

        A container that keeps failing leaves a message each time.
        """
        messages, here = self._view.messages, {each.id for each in observed.containers()}
        for gone in [each for each in messages if each not in here]:
            del messages[gone]

    async def _message_of(self, pod: Pod, container: ObservedContainer) -> str:
        files = self._services.files
        on_disk, wait = self._view.on_disk, self._worker.wait
        try:
            message = on_disk(files.read_termination_message, container.termination_file, MESSAGE_LIMIT_BYTES)
            text = await wait(message, what="a termination message")
            if not text and falls_back_to_log(container):
                log = (container.log_path, container.id)
                tail = on_disk(files.read_log_tail, *log, LOG_TAIL_LINES, LOG_TAIL_BYTES)
                text = await wait(tail, what="the end of a log")
        except Exception as failure:  # the container wrote it: nothing in it may fail the worker
            name = f"{self._view.name}, container {container.name}"
            text = str(failure) or type(failure).__name__
            self._worker.log.warning("pod %s: the termination message cannot be read: %s", name, text)
            return container.message
        return joined_message(container.message, text, message_share_bytes(pod))


def with_messages(observed: ObservedPod, messages: Mapping[str, str]) -> ObservedPod:
    """The same look with the termination messages read so far, by container id."""
    if not messages:
        return observed
    by_name: Mapping[str, tuple[ObservedContainer, ...]] = {
        name: tuple(
            msgspec.structs.replace(each, message=messages[each.id]) if messages.get(each.id) else each
            for each in containers
        )
        for name, containers in observed.by_name.items()
    }
    return msgspec.structs.replace(observed, by_name=by_name)
