"""The names around a pod: the resolver its sandbox is given, and the hosts file its containers find (spec 14.1, 14.3).

The rules are in `actors.start.resolver` and `actors.start.hosts_file`; here are the files that they need. The node's
own are read when a sandbox or a container is made, never remembered for another pod, and on a lane: they may be where
a disk hangs. For its first sandbox a pod begins to read while its volumes are made, so that it need not wait twice.
What is to be in the hosts file is made anew for each container, so that it has the addresses of now; whoever makes the
container writes it with its other files.
"""

from __future__ import annotations

from actors.kernel import Actor, LaneExhaustedError, Pending
from actors.node_object.events import node_event
from actors.pod.view import PodView
from actors.pod_services import PodServices
from actors.start import hosts_file, resolver
from actors.start.refusal import StartRefusedError
from actors.start.resolver import ClusterResolver, Formed, Resolver, ResolverError
from config.objects import Pod
from runtime.cri.messages import DNSConfig

GOOD_FOR_NS = 10_000_000_000
"""How long after it was begun a reading may be used: a pod whose volumes take longer reads again."""
FILES = "the files of names"


class PodNames:
    """See the module."""

    def __init__(self, worker: Actor, services: PodServices, view: PodView) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._formed: Formed | None = None
        self._ahead: Pending[str] | None = None
        self._ahead_at_ns = 0

    def read_ahead(self, pod: Pod) -> None:
        """The pod will be asked for its resolver soon, for the first time: it has no sandbox yet."""
        if self._formed is not None or self._view.seen().sandboxes:
            return
        if resolver.needs_host(pod) and self._services.configuration.resolv_conf:
            self._ahead, self._ahead_at_ns = self._read_resolv_conf(), self._worker.now_ns()

    async def resolver(self, pod: Pod, *, anew: bool) -> DNSConfig:
        """What the sandbox resolves with. Not `anew`: as it was given to the sandbox that is there.

        Raises StartRefusedError where the node's own file cannot be used, DeadlineExceededError.
        """
        if anew or self._formed is None:
            configuration = self._services.configuration
            host = await self._host_resolver() if resolver.needs_host(pod) else Resolver()
            cluster = ClusterResolver(configuration.cluster_dns, configuration.cluster_domain)
            formed = resolver.form(pod, host, cluster)
            if formed != self._formed:
                self._say(pod, formed)
            self._formed = formed
        return self._formed.config

    async def hosts(self, pod: Pod, ips: tuple[str, ...]) -> tuple[str, str] | None:
        """Where the hosts file is and what is to be in it; None where the pod has none. Raises OSError, what lanes
        raise.
        """
        if not hosts_file.has_hosts_file(pod, ips):
            return None
        files = self._services.files
        if pod.spec.host_network:
            reading = self._view.on_disk(files.read_node_file, hosts_file.PLACE, hosts_file.LIMIT_BYTES)
            own = await self._worker.wait(reading, what=FILES)
            text = hosts_file.host_hosts(pod, own)
        else:
            text = hosts_file.pod_hosts(pod, ips, self._services.configuration.cluster_domain)
        return hosts_file.hosts_path(self._services.node.root_directory, self._view.uid), text

    async def _host_resolver(self) -> Resolver:
        path = self._services.configuration.resolv_conf
        if not path:
            return resolver.resolver_of_nobody(self._services.node.host_ips)
        reading, self._ahead = self._ahead, None
        if reading is None or self._worker.now_ns() - self._ahead_at_ns >= GOOD_FOR_NS:
            reading = self._read_resolv_conf()
        try:
            return resolver.parse_resolv_conf(await self._worker.wait(reading, what=FILES))
        except (OSError, ResolverError, LaneExhaustedError) as failure:
            why = (failure.strerror if isinstance(failure, OSError) else "") or str(failure)
            text = f"the node's {path} (resolvConf) cannot be used: {why}"
            raise StartRefusedError("$.spec.dnsPolicy", text) from failure

    def _read_resolv_conf(self) -> Pending[str]:
        path = self._services.configuration.resolv_conf
        return self._view.on_disk(self._services.files.read_node_file, path, resolver.LIMIT_BYTES)

    def _say(self, pod: Pod, formed: Formed) -> None:
        for message in formed.forming:
            self._view.say("Warning", resolver.FORMING, message)
        if formed.missing:
            self._view.say("Warning", resolver.MISSING, formed.missing)
            name = f"pod {pod.metadata.namespace}/{pod.metadata.name}"
            text = f"{name}: {formed.missing}"
            self._services.events.tell(node_event(self._services.node.name, "Warning", resolver.MISSING, text))
