"""The inputs for configuring a sandbox and its containers: files of the node and of the pod, and the pod's
addresses.

`PodNames` reads the files for name resolution (spec 14.1, 14.3); the rules are in `actors.start.names`. It reads on a
lane, because the disk may hang, and once for each sandbox or container. For the first sandbox it reads while the
volumes are made. The hosts file is composed for each container, with the current addresses.

`ContainerSources` collects the sources of a container's variables: objects, files of volumes, addresses.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.kernel import Actor, LaneExhaustedError, Pending
from actors.model.refusal import ContainerRefusedError
from actors.node_object.events import node_event
from actors.pod.references import PodReferences
from actors.pod.services import PodServices
from actors.pod.view import PodView
from actors.pod_status.api_status import pod_ips
from actors.start import names
from actors.start.environment import FileText, Outline, Sources
from actors.start.names import ClusterResolver, Formed, Resolver, ResolverError
from config.objects import Container, Pod
from runtime.cri.messages import DNSConfig

GOOD_FOR_NS = 10_000_000_000
"""For how long a reading may be used, from its start. A pod whose volumes take longer reads again."""
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
        """Read ahead: the pod has no sandbox yet and will need its resolver soon."""
        if self._formed is not None or self._view.seen().sandboxes:
            return
        if names.needs_host(pod) and self._services.configuration.resolv_conf:
            self._ahead, self._ahead_at_ns = self._read_resolv_conf(), self._worker.now_ns()

    async def resolver(self, pod: Pod, *, anew: bool) -> DNSConfig:
        """The resolver configuration of the sandbox. Not `anew`: the one that the existing sandbox was given.

        Raises StartRefusedError if the node's own file cannot be used, and DeadlineExceededError.
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

    async def hosts(self, pod: Pod, ips: tuple[str, ...]) -> tuple[str, str] | None:
        """Path and content of the hosts file; None if the pod has none. Raises OSError and what lanes raise."""
        if not names.has_hosts_file(pod, ips):
            return None
        files = self._services.files
        if pod.spec.host_network:
            reading = self._view.on_disk(files.read_node_file, names.HOSTS_PLACE, names.HOSTS_LIMIT_BYTES)
            own = await self._worker.wait(reading, what=FILES)
            text = names.host_hosts(pod, own)
        else:
            text = names.pod_hosts(pod, ips, self._services.configuration.cluster_domain)
        return names.hosts_path(self._services.node.root_directory, self._view.uid), text

    async def _host_resolver(self) -> Resolver:
        path = self._services.configuration.resolv_conf
        if not path:
            return names.resolver_of_nobody(self._services.node.host_ips)
        reading, self._ahead = self._ahead, None
        if reading is None or self._worker.now_ns() - self._ahead_at_ns >= GOOD_FOR_NS:
            reading = self._read_resolv_conf()
        try:
            return names.parse_resolv_conf(await self._worker.wait(reading, what=FILES))
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


ENV_FILE_BYTES = 64 * 1024
"""A file of variables is small; a larger one is something else."""


class ContainerSources:
    """See the module."""

    def __init__(self, worker: Actor, services: PodServices, view: PodView, references: PodReferences) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._references = references

    async def of(
        self, pod: Pod, container: Container, outline: Outline, host_paths: Mapping[str, str]
    ) -> Sources | None:
        """The sources of a container's variables; None: wait. Raises StartRefusedError and what lanes raise."""
        given = self._references.sources_for(pod, container, outline, self.ips(pod))
        if given is None:
            return None
        if not self._services.node.rules.env_files:
            return msgspec.structs.replace(given, files=None)
        if not outline.files:
            return given
        files = {each: await self._file_text(pod, *each, host_paths) for each in outline.files}
        return msgspec.structs.replace(given, files=files)

    def ips(self, pod: Pod) -> tuple[str, ...]:
        """The addresses of the pod, primary family first."""
        sandboxes = self._view.seen().sandboxes
        host_ips = self._services.node.host_ips
        return pod_ips(bool(pod.spec.host_network), sandboxes[0].ips if sandboxes else (), (), host_ips, True)

    async def _file_text(self, pod: Pod, volume: str, path: str, host_paths: Mapping[str, str]) -> FileText:
        """Read a file that another container may have written into an emptyDir (spec 13.3)."""
        if not any(each.name == volume and each.empty_dir is not None for each in pod.spec.volumes):
            return FileText(error="the volume must be an emptyDir of the pod")
        directory = host_paths.get(volume)
        if directory is None:
            return FileText(error="no container of the pod mounts the volume")
        read = self._services.files.read_volume_file
        try:
            text = self._view.on_disk(read, directory, path, ENV_FILE_BYTES)
            return FileText(await self._worker.wait(text, what="the pod's files"))
        except OSError as failure:
            return FileText(error=failure.strerror or str(failure))
