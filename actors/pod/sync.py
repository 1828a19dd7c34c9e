"""One pass of a pod that is to run: look, show, compute, do (spec 2.7, 3.6).

A pass does what `compute_pod_actions` says, in its order: end what must end, make the sandbox, start containers. It
does not wait for what takes long: volumes and pulls are asked for, and the pass ends there. After the deeds it looks
at what they changed and publishes that at once.
"""

from __future__ import annotations

from actors.events.history_words import decision
from actors.kernel import Actor
from actors.messages.admission import AdmissionWaits
from actors.messages.history import PodWait
from actors.messages.pods import LookAgain, RuntimeStateObserved
from actors.model.id_ranges import IdRange
from actors.model.observed import ObservedPod
from actors.model.refusal import StartRefusedError
from actors.pod.admission import PodAdmission
from actors.pod.container_starts import ContainerStarts, Place
from actors.pod.container_stops import stop_in_turn
from actors.pod.leases import PodLeases
from actors.pod.names import PodNames
from actors.pod.passes_in_a_row import PassesInARow
from actors.pod.probes import PodProbes
from actors.pod.references import PodReferences
from actors.pod.services import PodServices
from actors.pod.show import PodShow
from actors.pod.users import PodUsers, check_handler
from actors.pod.view import PodView, Question, RetryLaterError
from actors.pod.volumes import PodVolumes
from actors.pod.waits import container_waits
from actors.pod_rules.action_types import BackingOff, Kill, KillCause, PodActions, in_flight_of
from actors.pod_rules.actions import all_started, compute_pod_actions
from actors.pod_rules.backoff import back_off, back_off_message
from actors.pod_rules.lifecycle import PodLife
from actors.pod_rules.restart_all import Reset
from actors.pod_rules.termination import (
    Ending,
    GraceCause,
    grace_seconds,
    plan_ending,
    sandboxes_to_stop,
)
from actors.pod_rules.unhonoured import unhonoured_changes, unhonoured_fields, warning_of_changes
from actors.pod_rules.unhonoured import warning as unhonoured_warning
from actors.pod_status.active_deadline import DEADLINE_EXCEEDED, deadline_ns, past_deadline
from actors.pod_status.phase import TERMINAL
from actors.start.mount_abilities import mount_abilities
from actors.start.sandbox_config import sandbox_config
from actors.start.security import with_groups
from config.objects import Pod
from runtime.cri import CriError
from runtime.cri.messages import PodSandboxConfig

SECOND_NS = 1_000_000_000
NETWORK_RETRY_NS = SECOND_NS
RUNTIME_RETRY_NS = 5 * SECOND_NS
PROBES_RETRY_NS = SECOND_NS
NODE_RETRY_NS = 10 * SECOND_NS
CLASS_RETRY_NS = 10 * SECOND_NS
REFUSED_RETRY_NS = 60 * SECOND_NS
"""Only another form of the pod helps, and that is a reason to look by itself."""


class PodSync:
    """See the module. One per worker."""

    def __init__(
        self,
        worker: Actor,
        services: PodServices,
        view: PodView,
        show: PodShow,
        references: PodReferences,
        probes: PodProbes,
    ) -> None:
        self._worker = worker
        self._probes = probes
        self._services = services
        self._view = view
        self._show = show
        self._references = references
        self.users = PodUsers(worker, services.ids, Question(worker, "ids"))
        self._names = PodNames(worker, services, view)
        self._runtime = RuntimeStateObserved("", "")
        self.starts = ContainerStarts(worker, services, view, references, self._names, self.users)
        self.volumes = PodVolumes(worker, services, view, self._ask_ahead, Question(worker, "volumes"))
        self._backing_off: dict[str, int] = {}
        self._held_up: PodWait | None = None
        self._said = ("", "")
        self._killing_since_ns: int | None = None
        self._row = PassesInARow()
        self._checked: Pod | None = None
        self._warned: tuple[str, ...] = ()
        self.admission = PodAdmission(worker, services, Question(worker, "admission"))
        self.leases = PodLeases(worker, services.image_gc, Question(worker, "image leases"))

    def let_go(self) -> None:
        """The worker has ended: of the part that calls this one."""
        del self.volumes

    async def sync(self, life: PodLife, runtime: RuntimeStateObserved) -> bool:
        """One pass; True when the phase of the pod is final. Raises CriError, RetryLaterError."""
        view = self._view
        pod = view.pod
        assert pod is not None, "only a pod that is desired is synced"
        self._runtime = runtime
        self._notice_new_form(pod)
        self._held_up = None
        if self._probes.unheard():
            raise RetryLaterError(PROBES_RETRY_NS)  # their answer is a reason to look; this is for the case of none
        try:
            observed = await view.look()
        except CriError:
            self._show.publish_unseen()
            raise
        limited = pod.spec.active_deadline_seconds is not None
        if limited and past_deadline(pod, view.published, self._worker.wall_ns()):
            view.say("Normal", DEADLINE_EXCEEDED.reason, DEADLINE_EXCEEDED.message)
            view.forced = DEADLINE_EXCEEDED
        if await self._show.publish(observed, life) in TERMINAL:
            return True
        if limited:
            self._mind_the_deadline(pod)
        if runtime.error:
            # Nothing is known of the network either. The runtime's coming is a reason to look again.
            text = f"the container runtime is away: {runtime.error}"
            self._held_up = PodWait("the pod", "", text, "it goes on when the runtime is back")
            raise RetryLaterError(RUNTIME_RETRY_NS)
        if runtime.network_error and not pod.spec.host_network:
            text = f"network is not ready: {runtime.network_error}"
            self._say_once("NetworkNotReady", text)
            self._held_up = PodWait("the pod", "NetworkNotReady", text, "its sandbox is made when it is ready")
            raise RetryLaterError(NETWORK_RETRY_NS)
        if not self.admission.is_taken(pod, runs=bool(observed.sandboxes), groups_policy=runtime.groups_policy):
            self._held_up = self.admission.wait()
            return False
        if not self._volumes_are_ready(pod):
            return False
        view.post_starts.end_failed()
        actions = self._actions(pod, observed)
        self._note_backing_off(pod, actions.backing_off)
        view.history.decided(actions)
        failure: CriError | None = None
        then: PodActions | None = None
        if not actions.idle:
            if view.history.waits_no_longer("the pod"):
                view.history.waits(self.waits())  # what its containers have waited for may be over too
            view.history.tell()  # a deed may take long
            begun = view.deeds.begun
            try:
                await self._do(pod, observed, actions)
            except CriError as raised:
                failure = raised
            observed = view.seen()
            waits_for_nobody = failure is None and self._held_up is None  # an answer is a reason to look of its own
            if waits_for_nobody and view.deeds.begun > begun and not all_started(pod, observed, actions):
                then = self._actions(pod, observed)
        else:
            self._row.ended()
            if not self.starts.busy():
                self._references.rest()
        terminal = await self._show.publish(observed, life) in TERMINAL
        self._set_alarm(actions)
        if then is not None and not then.idle:
            self._go_on_to(pod, then)
        if failure is not None:
            raise failure
        return terminal

    def _go_on_to(self, pod: Pod, actions: PodActions) -> None:
        """One thing leads to the next; what leads nowhere is done again later."""
        spec = pod.spec
        pause_ns = self._row.pause_ns(len(spec.init_containers) + len(spec.containers))
        if not pause_ns:
            self._worker.ref.tell(LookAgain(runtime=False))
            return
        text = f"what was done has changed nothing: it is still to {decision(actions)[0]}"
        at_ns = self._worker.wall_ns() + pause_ns
        self._held_up = PodWait("the pod", "FailedSync", text, "it is tried again", at_ns)
        self._worker.after(pause_ns, LookAgain(), key="in a row")

    def _actions(self, pod: Pod, observed: ObservedPod) -> PodActions:
        """What is to be done of what is seen."""
        stops = self._view.stops
        return compute_pod_actions(
            pod,
            observed,
            wall_ns=self._worker.wall_ns(),
            crash_loop=self._services.crash_loop,
            probes=self._probes.results,
            in_flight=in_flight_of(self._view.deeds.under_way(), self.starts.busy() | stops.busy()),
            killed=stops.killed,
            owed=self._view.decided.owed,
        )

    def waits(self) -> tuple[PodWait, ...]:
        """What the pod waits for, after a pass."""
        pod = self._view.pod
        if pod is None:
            return ()
        if self._held_up is not None:
            return (self._held_up,)
        under_way = self.starts.under_way(self._backing_off)
        started = container_waits(pod, self._view.seen(), under_way, self._probes.results)
        return (*self._view.stops.waits(), *self._view.post_starts.waits(), *started)

    # --- what a pass waits for --------------------------------------------------------------------------------------

    def _notice_new_form(self, pod: Pod) -> None:
        """Once for each form of the pod: what its volumes must know, and what it asks for and does not get."""
        if pod is self._checked:
            return
        if self._checked is not None:
            self.volumes.pod_changed(pod, self._checked)
            if changes := unhonoured_changes(self._checked, pod):
                self._view.say("Warning", "FieldsNotHonoured", warning_of_changes(changes))
                self.admission.resized()
        self._checked = pod
        paths = unhonoured_fields(pod, stop_signals=self._services.node.rules.stop_signals)
        if paths and paths != self._warned:
            self._view.say("Warning", "FieldsNotHonoured", unhonoured_warning(paths))
        self._warned = paths

    def admission_waits(self, message: AdmissionWaits) -> None:
        """The node cannot say yet whether it takes the pod, and why: a pass that is held up by that waits for this."""
        is_next = self._held_up == self.admission.wait()
        self.admission.waits(message)
        if is_next:
            self._held_up = self.admission.wait()

    def goes_on_to_volumes(self) -> bool:
        """The node takes the pod that has waited for that: ask for its volumes, as one more pass would do.

        False where it might do more, since something may be different by now.
        """
        pod = self._view.pod
        if pod is None or pod is not self._checked or not self.volumes.unknown or self._view.observer.in_doubt():
            return False
        return not self._volumes_are_ready(pod)

    def _volumes_are_ready(self, pod: Pod) -> bool:
        """Asks for them where they are not. Raises RetryLaterError."""
        if self.volumes.ready:
            return True
        self._held_up = self.volumes.wait(pod)
        self.volumes.ask(pod)
        return False

    def _ask_ahead(self, pod: Pod) -> None:
        """For what its containers need besides volumes."""
        self._references.ask_ahead(pod)
        self._names.read_ahead(pod)

    def _mind_the_deadline(self, pod: Pod) -> None:
        """Look again when the pod has been active for as long as it may, whatever it waits for by then."""
        at_ns = deadline_ns(pod, self._view.published)
        if at_ns is not None:
            self._worker.after(max(0, at_ns - self._worker.wall_ns()), LookAgain(), key="deadline")

    def _set_alarm(self, actions: PodActions) -> None:
        """Look again when the first back-off is over."""
        waits = [] if actions.wake_at_ns is None else [max(0, actions.wake_at_ns - self._worker.wall_ns())]
        pull_ns = self.starts.wake_in_ns()
        if pull_ns is not None:
            waits.append(pull_ns)
        if waits:
            self._worker.after(min(waits), LookAgain(), key="look")

    def _note_backing_off(self, pod: Pod, backing_off: tuple[BackingOff, ...]) -> None:
        now = {each.name: each.until_ns for each in backing_off}
        for each in backing_off:
            self._view.waiting[each.name] = ("CrashLoopBackOff", back_off_message(pod, each.name, each.delay_ns))
            if self._backing_off.get(each.name) != each.until_ns:
                text = f"Back-off restarting failed container {each.name} in pod {pod.metadata.name}"
                self._view.say("Warning", "BackOff", text, each.name)
        self._backing_off = now

    # --- deeds ------------------------------------------------------------------------------------------------------

    async def _do(self, pod: Pod, observed: ObservedPod, actions: PodActions) -> None:
        if actions.reset:
            await self._reset(pod, actions.reset)
            return
        if actions.kill_pod and not await self._kill_pod(pod, observed, anew=actions.create_sandbox):
            return
        for kill in actions.kill:
            self._kill(pod, kill)
        if not (actions.create_sandbox or actions.start_ephemeral or actions.start_init or actions.start):
            return
        sandbox_id = actions.sandbox_id
        own_users = self.users.wanted(pod)
        ids = self._ids(pod) if own_users else None
        if own_users and ids is None:
            return
        parent = self.admission.cgroup_parent(pod, anew=actions.create_sandbox)
        if parent is None:
            self._held_up = self.admission.wait()
            return
        config = await self._sandbox_config(pod, actions, ids, parent)
        if actions.create_sandbox:
            handler = self._runtime_handler(pod)
            if handler is None:
                text = f"its RuntimeClass {pod.spec.runtime_class_name} is being asked for"
                self._held_up = PodWait("the pod", "", text, "its sandbox is made then")
                return
            if own_users:
                self._check_users(handler)
            if observed.sandboxes:
                self._view.say("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
            sandbox_id = await self._make_sandbox(actions.sandbox_attempt, config, handler)
        if not self.leases.hold(pod):
            text = "an image that it names is just being removed, or nobody has said yet that none is"
            self._held_up = PodWait("the pod", "", text, "its containers are started then")
            return
        sandboxes = self._view.seen().sandboxes
        able = mount_abilities(self._runtime, sandboxes[0].handler if sandboxes else "")
        place = Place(actions.sandbox_attempt, sandbox_id, config, self.volumes.made, able)
        failure: CriError | None = None
        ending = self._view.stops.not_gone()
        for start in (*actions.start_ephemeral, *actions.start_init, *actions.start):
            if start.container.name in ending:
                continue  # its turn comes when the one before it has ended
            if self._view.start_lives.unstarted and start not in actions.start_ephemeral:
                break  # a start has ended when its postStart hook has
            try:
                await self.starts.start(pod, start, place)
            except CriError as raised:
                # One container that cannot start does not hold up the others.
                failure = failure or raised
        if failure is not None:
            raise failure

    def _ids(self, pod: Pod) -> IdRange | None:
        """Of the pod's user namespace; None where it has to wait for them."""
        try:
            ids = self.users.ids(pod.metadata.uid)
        except StartRefusedError as refused:
            self._say_once("FailedCreatePodSandBox", f"Failed to create pod sandbox: {refused}")
            raise self._sandbox_refused(str(refused), NODE_RETRY_NS) from refused
        if ids is None:
            text = "the ids of its user namespace are being asked for"
            self._held_up = PodWait("the pod", "", text, "its sandbox is made then")
        return ids

    def _check_users(self, handler: str) -> None:
        """Whether the runtime can give the pod users of its own."""
        try:
            check_handler(handler, self._runtime)
        except StartRefusedError as refused:
            self._say_once("FailedCreatePodSandBox", f"Failed to create pod sandbox: {refused}")
            raise self._sandbox_refused(str(refused), REFUSED_RETRY_NS) from refused

    async def _sandbox_config(
        self, pod: Pod, actions: PodActions, ids: IdRange | None, cgroup_parent: str
    ) -> PodSandboxConfig:
        domain, rules = self._services.configuration.cluster_domain, self._services.node.rules.resources
        try:
            dns = await self._names.resolver(pod, anew=actions.create_sandbox)
        except StartRefusedError as refused:
            # It may be mended on the node.
            self._say_once("FailedCreatePodSandBox", f"Failed to create pod sandbox: {refused}")
            raise self._sandbox_refused(str(refused), NODE_RETRY_NS) from refused
        try:
            return sandbox_config(
                with_groups(pod, self.volumes.made.groups),
                actions.sandbox_attempt,
                self._view.log_directory(),
                cluster_domain=domain,
                dns=dns,
                cgroup_parent=cgroup_parent,
                rules=rules,
                ids=ids,
            )
        except StartRefusedError as refused:
            self._say_once("FailedCreatePodSandBox", f"Failed to create pod sandbox: {refused}")
            raise self._sandbox_refused(str(refused), REFUSED_RETRY_NS) from refused

    def _say_once(self, reason: str, message: str) -> None:
        """What holds the pod up, when it changes and not at every pass."""
        if self._said != (reason, message):
            self._said = (reason, message)
            self._view.say("Warning", reason, message)

    def _runtime_handler(self, pod: Pod) -> str | None:
        """Of the pod's RuntimeClass; None while it is not known. The answer is a reason to look again."""
        try:
            return self._references.runtime_handler(pod)
        except StartRefusedError as refused:
            self._say_once("FailedCreatePodSandBox", f"Failed to create pod sandbox: {refused.reason}")
            raise self._sandbox_refused(refused.reason, CLASS_RETRY_NS) from refused

    def _sandbox_refused(self, why: str, retry_ns: int) -> RetryLaterError:
        at_ns = self._worker.wall_ns() + retry_ns
        self._held_up = PodWait("the pod", "FailedCreatePodSandBox", why, "its sandbox is tried again", at_ns)
        return RetryLaterError(retry_ns)

    async def _make_sandbox(self, attempt: int, config: PodSandboxConfig, handler: str) -> str:
        try:
            sandbox_id = await self._view.deeds.run_sandbox(attempt, config, handler)
        except CriError as failure:
            self._view.say("Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {failure}")
            raise
        await self._view.observer.look_at_sandbox(sandbox_id)
        return sandbox_id

    async def _kill_pod(self, pod: Pod, observed: ObservedPod, *, anew: bool) -> bool:
        """End every container, sidecars in their order, then every sandbox; whether that is done.

        `anew`: the pod goes on in another sandbox.
        """
        plan = plan_ending(pod, observed)
        if anew:
            for ending in plan:
                self._view.stops.killed.setdefault(ending.id, KillCause.SANDBOX)
        if self._killing_since_ns is None:
            self._killing_since_ns = self._worker.now_ns()
        wait_ns = stop_in_turn(self._view, plan, self._worker.now_ns() - self._killing_since_ns)
        if wait_ns is not None:
            self._worker.after(wait_ns, LookAgain(), key="stop in turn")
            return False
        for sandbox_id in sandboxes_to_stop(observed):
            await self._view.deeds.stop_sandbox(sandbox_id)
        if (await self._view.look()).any_sandbox_ready():
            return False  # whatever the runtime says: no other is made beside it
        self._killing_since_ns = None
        return True

    def _kill(self, pod: Pod, kill: Kill) -> None:
        """Begin to end one container; the end of it is a reason to look."""
        cause = {"LIVENESS": GraceCause.LIVENESS, "STARTUP": GraceCause.STARTUP}.get(kill.cause.name, GraceCause.OTHER)
        grace = grace_seconds(pod, kill.container, cause)
        hook = kill.container.lifecycle.pre_stop if kill.container.lifecycle is not None and grace > 0 else None
        self._view.stops.killed[kill.id] = kill.cause
        ending = Ending(kill.id, kill.name, grace, (), hook, kill.message)
        self._view.stops.request(ending, kill.container, ip=self._view.ip())

    async def _reset(self, pod: Pod, resets: tuple[Reset, ...]) -> None:
        """Kill what runs, all at once and without a grace; then remove one after the other
        (`actors.pod_rules.restart_all`).
        """
        running = [each for each in resets if each.may_run]
        for each in running:
            why = f"Stopping container {each.name}: all containers of the pod are restarted"
            self._view.stops.request(Ending(each.id, each.name, 0, (), None, why), each.container)
        if running:
            return
        await self._keep_back_off(resets)
        for each in resets:
            await self._view.deeds.remove_container(each.id)
        await self._view.look()

    async def _keep_back_off(self, resets: tuple[Reset, ...]) -> None:
        """What those owe whose end has restarted all does not go with what is removed."""
        observed, crash_loop, decided = self._view.seen(), self._services.crash_loop, self._view.decided
        owed = {
            each.name: back_off(each.container, last, crash_loop, self._worker.wall_ns())
            for each in resets
            if each.source and (last := observed.newest(each.name)) is not None and each.id == last.id
        }
        if owed:
            decided.owed.update(owed)
            await decided.keep()
