"""A client of the runtime that starts pods, and does nothing else.

It asks for what the agent asks for, by the agent's own rules. So its time is the least that an agent can take. What a
pod asks for matters: on containerd, a sandbox with a seccomp filter takes some 10 ms longer than one without.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic

import msgspec

from actors.start.cri_configs import ContainerNodeRules, Making, container_config, message_file, sandbox_config
from actors.start.resources import ResourceRules
from config.objects import Pod
from config.pods.defaults import default_pod
from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.client import GrpcCri
from runtime.host.machine import read_machine

CALL_LIMIT_S = 600.0
DNS = m.DNSConfig(servers=("10.0.0.10",), options=("ndots:5",))


class BareClient:
    """See the module. `place`: a directory of its own. `image` is on the node. Any thread may start pods."""

    def __init__(self, cri: GrpcCri, place: str, image: str) -> None:
        self._cri = cri
        self._place = place
        self._rules = _rules(place)
        asked = m.ImageStatusRequest(image=m.ImageSpec(image=image))
        self._image = cri.call(v.IMAGE_STATUS, asked).result(CALL_LIMIT_S).image or m.Image()

    def start(self, pod: Pod) -> tuple[float, float]:
        """Start a pod with one container; return when that began and when it ran (`monotonic`)."""
        began = monotonic()
        pod = _with_uid(default_pod(pod))
        (container,) = pod.spec.containers
        logs = f"{self._place}/log/{pod.metadata.name}"
        hosts, message = f"{logs}.hosts", message_file(pod, container, 0, self._rules)
        os.makedirs(logs)
        os.makedirs(os.path.dirname(message))
        for each in (hosts, message):
            Path(each).touch()
        sandbox = sandbox_config(pod, 0, logs, dns=DNS, rules=self._rules.resources)
        asked = m.RunPodSandboxRequest(config=sandbox)
        sandbox_id = self._cri.call(v.RUN_POD_SANDBOX, asked).result(CALL_LIMIT_S).pod_sandbox_id
        making = Making(attempt=0, sandbox_attempt=0, image=self._image, hosts_file=hosts)
        config = container_config(pod, container, making, self._rules)
        os.makedirs(f"{logs}/{container.name}")
        request = m.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox)
        container_id = self._cri.call(v.CREATE_CONTAINER, request).result(CALL_LIMIT_S).container_id
        self._cri.call(v.START_CONTAINER, m.StartContainerRequest(container_id=container_id)).result(CALL_LIMIT_S)
        return began, monotonic()


def _rules(root: str) -> ContainerNodeRules:
    """Those of an agent on this machine."""
    machine = read_machine()
    resources = ResourceRules(
        memory_capacity_bytes=machine.memory_bytes,
        cgroup_version=machine.cgroup_version,
        single_process_oom_kill=machine.cgroup_version == 1,
        page_sizes=tuple(size_bytes for size_bytes, _ in machine.huge_pages),
    )
    return ContainerNodeRules(root_directory=root, resources=resources, thermal_paths=machine.thermal_paths)


def _with_uid(pod: Pod) -> Pod:
    """The pod with its name as its UID."""
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=pod.metadata.name))
