"""Mounts, names, messages, and the two messages that all of it ends in (spec 3.8, 3.9, 14.2)."""

from __future__ import annotations

from typing import Any
from weakref import ref

import msgspec
import pytest

from actors.model.id_ranges import IdRange
from actors.model.refusal import ContainerRefusedError
from actors.start.cri_configs import (
    ContainerNodeRules,
    Making,
    container_config,
    falls_back_to_log,
    joined_message,
    message_share_bytes,
    port_mappings,
    sandbox_config,
    termination_file,
)
from actors.start.environment import Sources, document_path
from actors.start.names import pod_hostname
from actors.start.resources import ResourceRules
from actors.start.security import with_groups
from config.documents.codec import decode, encode
from config.objects import (
    ContainerPort,
    EnvVar,
    EphemeralContainer,
    PodSecurityContext,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Sysctl,
    VolumeMount,
)
from config.pods.identity import CONFIG_SOURCE
from runtime.cri.identity import BACK_OFF_NS, SANDBOX_ATTEMPT, TERMINATION_MESSAGE_FILE
from runtime.cri.messages import ContainerConfig, Image, Int64Value, PodSandboxConfig, Protocol
from tests.actors.pod_pictures import EXITED, RUNNING, container, pod, seen, sidecar

DATA = {"data": "/pods/data"}
NODE = ContainerNodeRules("/root")


@pytest.mark.parametrize(
    ("fields", "hostname"),
    [
        pytest.param({}, "web", id="the pod's name"),
        pytest.param({"hostname": "box"}, "box", id="its hostname"),
        pytest.param({"hostname_override": "other.example"}, "other.example", id="its override"),
        pytest.param({"host_network": True}, "", id="none in the host's network"),
        pytest.param({"hostname": "x" * 62 + "-y"}, "x" * 62, id="cut, and trimmed"),
        pytest.param({"subdomain": "sub"}, "web", id="the subdomain is no part of it"),
        pytest.param(
            {"subdomain": "sub", "set_hostname_as_fqdn": True}, "web.sub.shop.svc.local", id="unless asked for"
        ),
        pytest.param({"set_hostname_as_fqdn": True}, "web", id="without a subdomain there is no domain"),
    ],
)
# (spec 14.2.1)
def test_hostname(fields: dict[str, Any], hostname: str) -> None:
    assert pod_hostname(pod("a", **fields), "local") == hostname


def test_without_a_domain_of_the_cluster_a_full_name_keeps_its_last_dot_as_with_a_kubelet() -> None:
    assert pod_hostname(pod("a", subdomain="sub", set_hostname_as_fqdn=True), "") == "web.sub.shop.svc."


# (spec 14.2.1)
def test_a_full_name_that_the_kernel_does_not_take_is_refused() -> None:
    with pytest.raises(ContainerRefusedError, match=r"is too long \(64 characters is the max, "):
        pod_hostname(pod("a", subdomain="s" * 60, set_hostname_as_fqdn=True), "local")


# (spec 3.8.4)
def test_termination_messages_share_the_space_of_a_status() -> None:
    assert termination_file("/root/", "u", "web", 10) == "/root/pods/u/containers/web/0000000a"
    assert message_share_bytes(pod("a")) == 12288
    assert message_share_bytes(pod(*(f"c{i}" for i in range(6)))) == 2048


@pytest.mark.parametrize(
    ("state", "code", "reason", "policy", "expected"),
    [
        pytest.param(EXITED, 1, "Error", "FallbackToLogsOnError", True, id="failed"),
        pytest.param(EXITED, 0, "Completed", "FallbackToLogsOnError", False, id="succeeded"),
        pytest.param(EXITED, 1, "ContainerCannotRun", "FallbackToLogsOnError", False, id="never ran"),
        pytest.param(EXITED, 1, "Error", "File", False, id="not asked for"),
        pytest.param(RUNNING, 1, "", "FallbackToLogsOnError", False, id="still runs"),
    ],
)
# (spec 3.8.4)
def test_the_log_stands_in_for_a_message(state, code: int, reason: str, policy: str, expected: bool) -> None:
    notes = {"io.kubernetes.container.terminationMessagePolicy": policy}
    assert falls_back_to_log(seen("a", state, exit_code=code, reason=reason, notes=notes)) is expected


@pytest.mark.parametrize(("one", "two", "both"), [("a", "b", "a: b"), ("a", "", "a"), ("", "b", "b"), ("", "", "")])
def test_messages_of_runtime_and_container_are_joined(one: str, two: str, both: str) -> None:
    assert joined_message(one, two, 4) == both


def test_a_message_that_is_too_long_is_cut_at_its_end() -> None:
    assert joined_message("ab", "cdé", 7) == "ab: cd"
    assert joined_message("ab", "cdé", 8) == "ab: cdé"


# (spec 3.8.1)
def test_a_container_config_holds_it_all() -> None:
    web = container(
        "web",
        command=("run", "$(MODE)"),
        args=("$(NONE)", "$$(MODE)"),
        env=(EnvVar(name="MODE", value="fast"),),
        working_dir="/w",
        tty=True,
        volume_mounts=(VolumeMount(name="data", mount_path="/d"),),
        termination_message_path="/dev/termination-log",
    )
    made = container_config(pod(web), web, Making(2, 1, Image(id="sha256:1"), DATA, back_off_ns=5), NODE)
    assert made.metadata is not None
    assert made.image is not None
    assert (made.metadata.name, made.metadata.attempt, made.log_path) == ("web", 2, "web/2.log")
    assert (made.image.image, made.image.user_specified_image) == ("sha256:1", "image:1")
    assert (made.command, made.args) == (("run", "fast"), ("$(NONE)", "$(MODE)"))
    assert [(each.key, each.value) for each in made.envs] == [("MODE", b"fast")]
    assert [each.host_path for each in made.mounts] == ["/pods/data", "/root/pods/uid-1/containers/web/00000002"]
    assert made.annotations[TERMINATION_MESSAGE_FILE] == made.mounts[1].host_path
    assert (made.annotations[BACK_OFF_NS], made.labels[SANDBOX_ATTEMPT]) == ("5", "1")
    assert (made.working_dir, made.tty, made.stdin) == ("/w", True, False)


# (spec 3.8.1)
def test_the_same_container_is_configured_the_same_way_again() -> None:
    web = container("web", termination_message_path="/t")
    making = Making(0, 0, Image(id="i"))
    assert container_config(pod(web), web, making, NODE) == container_config(pod(web), web, making, NODE)


def test_places_of_containers_in_the_document() -> None:
    debug = EphemeralContainer(name="e")
    the_pod = pod("a", "b", init=(container("i"),), ephemeral_containers=(debug,))
    assert document_path(the_pod.spec, the_pod.spec.containers[1]) == "$.spec.containers[1]"
    assert document_path(the_pod.spec, the_pod.spec.init_containers[0]) == "$.spec.initContainers[0]"
    assert document_path(the_pod.spec, debug) == "$.spec.ephemeralContainers[0]"


# (spec 3.9.1)
def test_a_sandbox_config_holds_it_all() -> None:
    the_pod = pod(
        "a",
        meta={"labels": {"app": "x"}, "annotations": {"note": "y"}},
        security_context=PodSecurityContext(sysctls=(Sysctl(name="net/core/somaxconn", value="9"),)),
    )
    made = sandbox_config(the_pod, 3, "/logs", cgroup_parent="/kubepods")
    assert made.metadata is not None
    assert made.linux is not None
    assert (made.metadata.name, made.metadata.namespace, made.metadata.uid, made.metadata.attempt) == (
        "web",
        "shop",
        "uid-1",
        3,
    )
    assert made.labels == {
        "app": "x",
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "shop",
        "io.kubernetes.pod.uid": "uid-1",
    }
    assert (made.annotations, made.hostname, made.log_directory) == ({"note": "y"}, "web", "/logs")
    assert (made.linux.sysctls, made.linux.cgroup_parent) == ({"net.core.somaxconn": "9"}, "/kubepods")


# (spec 3.9.1)
def test_ports_of_regular_containers_and_sidecars_once_each() -> None:
    def ports(*numbers: int, name: str | None = None) -> tuple[ContainerPort, ...]:
        return tuple(ContainerPort(container_port=each, host_port=each, name=name) for each in numbers)

    init = (sidecar("s", ports=ports(2)), container("i", ports=ports(3)))
    udp = (ContainerPort(container_port=9, protocol="UDP", host_ip="127.0.0.1"),)
    the_pod = pod(container("a", ports=ports(1, 1)), container("b", ports=(*ports(5, 6, name="p"), *udp)), init=init)
    made = port_mappings(the_pod)
    assert [each.container_port for each in made] == [1, 5, 9, 2]
    assert (made[2].protocol, made[2].host_ip, made[2].host_port) == (Protocol.UDP, "127.0.0.1", 0)
    assert port_mappings(pod(container("a", ports=ports(1)), host_network=True)) == ()


SHARED = pod(
    container(
        "web",
        termination_message_path="/t",
        resources=ResourceRequirements(requests={"memory": "1Gi"}, limits={"cpu": "1"}),
    ),
    priority_class_name="system-node-critical",
    host_users=False,
    security_context=PodSecurityContext(fs_group=5),
).spec
IDS = IdRange(65_536, 65_536)
PLAIN = Making(0, 0, Image(id="sha256:1"), ids=IDS)
SMALL = ResourceRules(memory_capacity_bytes=2**32)


def _of_shared(
    meta: dict[str, Any], status: PodStatus | None, making: Making, node: ContainerNodeRules
) -> ContainerConfig:
    """Of a pod that has the spec of all the others in this file."""
    one = msgspec.structs.replace(pod("a", meta=meta, status=status), spec=SHARED)
    return container_config(one, one.spec.containers[0], making, node)


def _of_its_own(
    meta: dict[str, Any], status: PodStatus | None, making: Making, node: ContainerNodeRules
) -> ContainerConfig:
    """Of a pod whose spec nobody has ever seen."""
    spec = decode(encode(SHARED), PodSpec)
    one = msgspec.structs.replace(pod("a", meta=meta, status=status), spec=spec)
    return container_config(one, spec.containers[0], making, node)


@pytest.mark.parametrize(
    ("meta", "status", "making", "node"),
    [
        pytest.param({"name": "other", "uid": "uid-2", "namespace": "n"}, None, PLAIN, NODE, id="who it is"),
        pytest.param({"annotations": {CONFIG_SOURCE: "file"}}, None, PLAIN, NODE, id="a static pod"),
        pytest.param(
            {"annotations": {"container.apparmor.security.beta.kubernetes.io/web": "unconfined"}},
            None,
            PLAIN,
            NODE,
            id="its annotation for AppArmor",
        ),
        pytest.param({"deletion_grace_period_seconds": 7}, None, PLAIN, NODE, id="its grace"),
        pytest.param({}, PodStatus(qos_class="Guaranteed"), PLAIN, NODE, id="its class"),
        pytest.param({}, None, msgspec.structs.replace(PLAIN, attempt=2, back_off_ns=9), NODE, id="the attempt"),
        pytest.param({}, None, msgspec.structs.replace(PLAIN, sandbox_attempt=2), NODE, id="the sandbox"),
        pytest.param({}, None, msgspec.structs.replace(PLAIN, ids=IdRange(0, 10)), NODE, id="its ids"),
        pytest.param(
            {}, None, msgspec.structs.replace(PLAIN, image=Image(id="i", uid=Int64Value(value=9))), NODE, id="the user"
        ),
        pytest.param(
            {}, None, msgspec.structs.replace(PLAIN, image=Image(id="i", username="me")), NODE, id="the user's name"
        ),
        pytest.param({}, None, PLAIN, ContainerNodeRules("/root", resources=SMALL), id="the node's memory"),
        pytest.param({}, None, PLAIN, ContainerNodeRules("/elsewhere", seccomp_default=True), id="the node's rules"),
    ],
)
def test_a_pod_that_shares_its_spec_is_configured_as_if_it_were_alone(
    meta: dict[str, Any], status: PodStatus | None, making: Making, node: ContainerNodeRules
) -> None:
    plain = _of_shared({}, None, PLAIN, NODE)
    made = _of_shared(meta, status, making, node)
    assert made == _of_its_own(meta, status, making, node)
    assert made != plain
    assert _of_shared({}, None, PLAIN, NODE) == plain


def test_sandboxes_of_pods_that_share_a_spec_differ_in_what_is_their_own() -> None:
    def made(rules: ResourceRules = SMALL, ids: IdRange = IDS, **meta: str) -> PodSandboxConfig:
        one = msgspec.structs.replace(pod("a", meta=meta), spec=SHARED)
        alone = msgspec.structs.replace(one, spec=decode(encode(SHARED), PodSpec))
        configs = [sandbox_config(each, 0, "/logs", rules=rules, ids=ids) for each in (one, one, alone)]
        assert configs[0] == configs[1] == configs[2]
        return configs[0]

    different = [made(), made(name="b"), made(ids=IdRange(1, 2)), made(rules=ResourceRules(cpu_quota=False))]
    assert len({repr(each) for each in different}) == len(different)


class Variables(dict[str, str]):
    """Of services; one can be told from another."""


def test_a_container_that_is_restarted_while_services_come_and_go_keeps_few_forms_of_their_variables() -> None:
    the_pod = pod("a")
    [app] = the_pod.spec.containers
    forms = []
    for number in range(100):
        services = Variables(WEB_PORT=str(number))
        forms.append(ref(services))
        config = container_config(
            the_pod, app, Making(number, 0, Image(id="i"), sources=Sources(services=services)), NODE
        )
        assert [(each.key, each.value) for each in config.envs] == [("WEB_PORT", str(number).encode())]
    assert len([each for each in forms if each() is not None]) < 10


def test_groups_of_volumes_make_another_spec_once() -> None:
    one = pod("a")
    assert with_groups(one, ()) is one
    grouped = with_groups(one, (5, 6))
    assert grouped.spec.security_context == PodSecurityContext(supplemental_groups=(5, 6))
    assert with_groups(one, (5, 6)).spec is grouped.spec
    assert with_groups(one, (7,)).spec.security_context == PodSecurityContext(supplemental_groups=(7,))


@pytest.mark.parametrize("field", ["command", "args"])
def test_a_command_that_multiplies_a_variable_is_refused(field: str):
    words: Any = ("$(A)" * 1000,) * 1000
    web = container("web", env=(EnvVar(name="A", value="x" * 1000),), **{field: words})
    making = Making(0, 0, Image(id="sha256:1"), DATA)
    with pytest.raises(ContainerRefusedError, match=rf"^\$\.spec\.containers\[0\]\.{field}: is longer than"):
        container_config(pod(web), web, making, NODE)
