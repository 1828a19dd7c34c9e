"""Step: make the sandbox, configured for the containers to start, unless a usable one exists.

It first needs the claims of devices, the ids of a user namespace, the cgroup of the pod, its resolver and its
RuntimeClass, each from its owner. While the runtime makes the sandbox, `PodImages` looks at the images of the
containers.

`PodUsers` asks for the ids of a user namespace (spec 17.6). A pod that shares the users of the host asks for none.

`PodResolver` forms the resolver configuration of the pod (spec 14.1); the rules are in `actors.start.names`. It reads
the node's file on a lane, because the disk may hang, and once for each sandbox. For the first sandbox it reads while
the volumes are made.
"""

from __future__ import annotations

import msgspec

from actors.kernel import Actor, ActorRef, LaneExhaustedError, Pending, handles, part
from actors.messages.ids import AssignIds, IdsAssigned, ReleaseIds
from actors.messages.pods import StartGoesOn
from actors.model.id_ranges import IdRange
from actors.model.refusal import ContainerRefusedError
from actors.node_object.events import node_event
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, PodPass, Refuse, StartPlace
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.references import PodReferences
from actors.pod.runtime import PodCalls, PodObserver
from actors.pod.services import PodServices
from actors.pod.steps.admitted import PodAdmission
from actors.pod.steps.claims import PodResourceClaims
from actors.pod.steps.cpus import PodCpus
from actors.pod.steps.images import PodImages
from actors.pod.troubles import ToldError
from actors.pod.view import PodView, Question
from actors.start import names
from actors.start.cri_configs import sandbox_config
from actors.start.mounts import mount_abilities
from actors.start.names import ClusterResolver, Formed, Resolver, ResolverError
from actors.start.security import with_groups
from config.objects import Pod
from config.pods.resource_claims import has_claims
from runtime.cri import CriError
from runtime.cri.messages import DNSConfig, PodSandboxConfig

NODE_RETRY_NS = 10_000_000_000
"""The node may mend the cause."""
SPEC_RETRY_NS = 60_000_000_000
"""Only a new form of the pod helps, and that begins a pass by itself."""
RESOLVER_GOOD_FOR_NS = 10_000_000_000
"""How long a reading may be used, from its start. A pod whose volumes take longer reads again."""
SLOW_NS = 1_000_000_000
"""A sandbox that takes longer shows that the runtime is slow, and does not hang."""
_HOST_USERS = "$.spec.hostUsers"


class PodUsers:
    """See the module. `owner` assigns the ids."""

    def __init__(self, worker: PodActor, owner: ActorRef) -> None:
        self._worker = worker
        self._owner = owner
        self._question = Question(worker, "ids")
        self._answer: IdsAssigned | None = None

    @staticmethod
    def wanted(pod: Pod) -> bool:
        """Whether the pod has a user namespace of its own."""
        return pod.spec.host_users is False

    def ids(self, uid: str) -> IdRange | None:
        """The ids of the pod; None: wait for the answer, which triggers a look. Raises ContainerRefusedError."""
        answer = self._answer
        if answer is None:
            if self._question.may_ask():
                self._owner.tell(AssignIds(self._worker.ref, uid))
            return None
        if answer.ids is None:
            self._answer = None  # the next try asks again
            raise ContainerRefusedError(_HOST_USERS, f"no ids for the pod's user namespace: {answer.error}")
        return answer.ids

    @handles(IdsAssigned)
    def assigned(self, message: IdsAssigned) -> Pass | None:
        self._question.answered()
        self._answer = message
        return self._worker.go_on()

    def release(self, uid: str, pod: Pod | None) -> None:
        """Release the ids when nothing of the pod runs.

        An orphan always releases, because it is unknown whether it had ids.
        """
        if pod is None or self.wanted(pod):
            self._owner.tell(ReleaseIds(uid))
        self._answer = None


class PodResolver:
    def __init__(self, worker: Actor, services: PodServices, view: PodView) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._formed: Formed | None = None
        self._ahead: Pending[str] | None = None
        self._ahead_at_ns = 0

    def read_ahead(self, pod: Pod) -> None:
        """Read ahead: the pod has no sandbox yet and will need its resolver soon."""
        if self._formed is not None or self._view.seen().sandboxes:
            return
        if names.needs_host(pod) and self._services.configuration.resolv_conf:
            self._ahead, self._ahead_at_ns = self._read_resolv_conf(), self._worker.now_ns()

    async def config(self, pod: Pod, *, anew: bool) -> DNSConfig:
        """The resolver configuration of the sandbox. Not `anew`: that of the existing sandbox.

        Raises ContainerRefusedError if the node's own file cannot be used, and DeadlineExceededError.
        """
        if anew or self._formed is None:
            configuration = self._services.configuration
            host = await self._host_resolver() if names.needs_host(pod) else Resolver()
            cluster = ClusterResolver(configuration.cluster_dns, configuration.cluster_domain)
            formed = names.form(pod, host, cluster)
            if formed != self._formed:
                self._say(pod, formed)
            self._formed = formed
        return self._formed.config

    async def _host_resolver(self) -> Resolver:
        path = self._services.configuration.resolv_conf
        if not path:
            return names.resolver_of_nobody(self._services.node.host_ips)
        reading, self._ahead = self._ahead, None
        if reading is None or self._worker.now_ns() - self._ahead_at_ns >= RESOLVER_GOOD_FOR_NS:
            reading = self._read_resolv_conf()
        try:
            return names.parse_resolv_conf(await self._worker.wait(reading, what="the files of names"))
        except (OSError, ResolverError, LaneExhaustedError) as failure:
            why = (failure.strerror if isinstance(failure, OSError) else "") or str(failure)
            text = f"the node's {path} (resolvConf) cannot be used: {why}"
            raise ContainerRefusedError("$.spec.dnsPolicy", text) from failure

    def _read_resolv_conf(self) -> Pending[str]:
        path = self._services.configuration.resolv_conf
        return self._view.on_disk(self._services.files.read_node_file, path, names.LIMIT_BYTES)

    def _say(self, pod: Pod, formed: Formed) -> None:
        for message in formed.forming:
            self._view.say("Warning", names.FORMING, message)
        if formed.missing:
            self._view.say("Warning", names.MISSING, formed.missing)
            name = f"pod {pod.metadata.namespace}/{pod.metadata.name}"
            text = f"{name}: {formed.missing}"
            self._services.events.tell(node_event(self._services.node.name, "Warning", names.MISSING, text))


class _Given(msgspec.Struct, frozen=True):
    """The inputs of the sandbox from other actors. `ids`: None without a user namespace."""

    ids: IdRange | None
    cgroup_parent: str
    dns: DNSConfig


class PodSandbox:
    users = part(PodUsers)

    def __init__(
        self,
        worker: PodActor,
        services: PodServices,
        view: PodView,
        observer: PodObserver,
        calls: PodCalls,
        references: PodReferences,
        admission: PodAdmission,
        claims: PodResourceClaims,
        images: PodImages,
        cpus: PodCpus | None,
    ) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._observer = observer
        self._calls = calls
        self._references = references
        self._admission = admission
        self._claims = claims
        self._images = images
        self._cpus = cpus
        self.users = PodUsers(worker, services.ids)
        self._resolver = PodResolver(worker, services, view)
        self._is_change_said = False

    def say_changed(self) -> None:
        """Say, once a try, that the sandbox is made anew."""
        if not self._is_change_said:
            self._is_change_said = True
            self._view.say("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")

    def read_ahead(self, pod: Pod) -> None:
        """Read what a pod without a sandbox will need soon."""
        self._resolver.read_ahead(pod)

    async def step(self, this: PodPass) -> Outcome:
        """Set `PodPass.place`. Raises CriError."""
        pod, actions = this.pod, this.actions
        if not (actions.create_sandbox or actions.starts):
            if has_claims(pod):
                self._claims.look()
            return CONTINUE
        if has_claims(pod) and (waits := self._claims.ready(this)) is not CONTINUE:
            return waits
        try:
            given = await self._given(pod, anew=actions.create_sandbox)
        except ContainerRefusedError as refused:
            return _refused_at(refused, NODE_RETRY_NS)
        if isinstance(given, PassWait):
            return given
        try:
            config = sandbox_config(
                with_groups(pod, this.volumes.groups),
                actions.sandbox_attempt,
                self._view.log_directory(),
                cluster_domain=self._services.configuration.cluster_domain,
                dns=given.dns,
                cgroup_parent=given.cgroup_parent,
                rules=self._services.node.rules.resources,
                ids=given.ids,
                no_quota=self._cpus is not None and self._cpus.is_pinned,
            )
        except ContainerRefusedError as refused:
            return _refused_at(refused, SPEC_RETRY_NS)
        sandbox_id = actions.sandbox_id
        if actions.create_sandbox:
            handler = self._handler(this)
            if not isinstance(handler, str):
                return handler
            sandbox_id = await self._make(this, config, handler)
        sandboxes = self._view.seen().sandboxes
        abilities = mount_abilities(this.runtime, sandboxes[0].handler if sandboxes else "")
        this.place = StartPlace(actions.sandbox_attempt, sandbox_id, config, abilities, given.ids)
        return CONTINUE

    async def _given(self, pod: Pod, *, anew: bool) -> _Given | PassWait:
        """Gather the inputs of the sandbox. Raises ContainerRefusedError."""
        ids = None
        if self.users.wanted(pod):
            ids = self.users.ids(self._view.uid)
            if ids is None:
                return PassWait("the ids of its user namespace are being asked for", "its sandbox is made then")
        cgroup_parent = self._admission.cgroup_parent(pod, anew=anew)
        if cgroup_parent is None:
            return self._admission.wait()
        return _Given(ids, cgroup_parent, await self._resolver.config(pod, anew=anew))

    def _handler(self, this: PodPass) -> str | PassWait | Refuse:
        """The handler of the runtime that is to make the sandbox."""
        try:
            handler = self._references.runtime_handler(this.pod)
        except ContainerRefusedError as refused:
            return _refused(refused.reason, NODE_RETRY_NS)
        if handler is None:
            name = this.pod.spec.runtime_class_name
            return PassWait(f"its RuntimeClass {name} is being asked for", "its sandbox is made then")
        if self.users.wanted(this.pod) and handler not in this.runtime.user_namespace_handlers:
            named = f"handler {handler!r}" if handler else "the default handler"
            text = (
                f"{named} of the runtime does not support user namespaces; set hostUsers: true, or upgrade the runtime"
            )
            return _refused_at(ContainerRefusedError(_HOST_USERS, text), SPEC_RETRY_NS)
        return handler

    async def _make(self, this: PodPass, config: PodSandboxConfig, handler: str) -> str:
        if this.observed.sandboxes:
            self.say_changed()
        self._is_change_said = False
        attempt, began_ns = this.actions.sandbox_attempt, self._worker.now_ns()
        try:
            making = self._calls.ask_for_sandbox(attempt, config, handler)
            self._images.look_ahead(this.actions.starts)
            sandbox_id = await self._calls.sandbox_made(attempt, making)
        except CriError as failure:
            self._view.say("Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {failure.in_go}")
            raise ToldError(failure.code, failure.message, failure.verb) from failure
        if self._worker.now_ns() - began_ns >= SLOW_NS:
            self._services.sync_loop.tell(StartGoesOn())
        try:
            await self._observer.look_at_sandbox(sandbox_id)
        except CriError as failure:
            self._view.say("Warning", "FailedPodSandBoxStatus", f"Unable to get pod sandbox status: {failure.in_go}")
            raise ToldError(failure.code, failure.message, failure.verb) from failure
        return sandbox_id


def _refused_at(refused: ContainerRefusedError, retry_ns: int) -> Refuse:
    """The sandbox cannot be made as the pod asks. Upstream's words come first: tools match the beginning."""
    return _refused(f"{refused.reason} ({refused.path})", retry_ns)


def _refused(why: str, retry_ns: int) -> Refuse:
    """The sandbox cannot be made now."""
    return Refuse(
        "FailedCreatePodSandBox", why, "its sandbox is tried again", retry_ns, f"Failed to create pod sandbox: {why}"
    )
