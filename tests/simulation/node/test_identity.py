"""What a pod is to itself, on a simulated node.

Resolver, hosts file, users, and pods that are refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from actors.model.id_ranges import IdRange, read_document
from actors.resources.abilities import Abilities
from config.kubelet import KubeletConfiguration
from runtime.cri.messages import NamespaceMode, PodSandboxConfig
from simulation.cri.state import ContainerRecord
from simulation.host.host import SimulatedPodFiles
from simulation.node.simulated_node import ROOT
from tests.simulation.node.worlds import IN_A_CLUSTER, SECOND, World, container, manifest

PER_POD = 65536


def sandbox(world: World, name: str = "web") -> PodSandboxConfig:
    return record(world, name).sandbox.config


def record(world: World, name: str = "web", container_name: str = "app") -> ContainerRecord:
    [found] = [
        each
        for each in world.running_records()
        if each.sandbox.config.metadata is not None
        and each.sandbox.config.metadata.name == f"{name}-node"
        and each.config.metadata is not None
        and each.config.metadata.name == container_name
    ]
    return found


def uid_of(world: World, name: str = "web") -> str:
    return world.pod(name).metadata.uid


def text_of(world: World, path: str) -> str:
    return world.node.host.tree.read(path).decode()


def hosts_of(world: World, name: str = "web") -> str:
    return text_of(world, f"{ROOT}/pods/{uid_of(world, name)}/etc-hosts")


def settled(*containers: dict[str, Any], configuration: KubeletConfiguration = IN_A_CLUSTER, **spec: Any) -> World:
    world = World({"web": manifest("web", containers, **spec)}, configuration=configuration).start()
    world.run(10 * SECOND)
    return world


# --- names ------------------------------------------------------------------------------------------------------------


# (spec 14.1.2)
def test_dns_policy_cluster_first_gives_the_sandbox_the_resolver_of_the_cluster() -> None:
    dns = sandbox(settled()).dns_config
    assert dns is not None
    assert dns.servers == ("10.96.0.10",)
    assert dns.searches == ("default.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.test")
    assert dns.options == ("ndots:5",)


# (spec 14.1.5)
def test_conformance_dns_custom_dns_config_of_policy_none() -> None:
    own = {"nameservers": ["1.1.1.1"], "searches": ["resolv.conf.local"], "options": [{"name": "ndots", "value": "2"}]}
    dns = sandbox(settled(dnsPolicy="None", dnsConfig=own)).dns_config
    assert dns is not None
    assert (dns.servers, dns.searches, dns.options) == (("1.1.1.1",), ("resolv.conf.local",), ("ndots:2",))


# (spec 14.1.3)
def test_a_missing_cluster_dns_is_said_once_of_the_pod_and_of_the_node_and_the_pod_runs() -> None:
    world = settled(configuration=KubeletConfiguration())
    assert world.running() == ["web/app"]
    said = [e.event for e in world.node.node.events() if e.event.reason == "MissingClusterDNS"]
    assert sorted(each.kind for each in said) == ["Node", "Pod"]
    dns = sandbox(world).dns_config
    assert dns is not None
    assert dns.searches == ("example.test",)


def test_more_nameservers_than_fit_are_left_out_with_a_warning() -> None:
    many = msgspec.structs.replace(IN_A_CLUSTER, cluster_dns=("10.96.0.10", "10.96.0.11"))
    world = settled(configuration=many, dnsConfig={"nameservers": ["1.1.1.1", "8.8.8.8"]})
    dns = sandbox(world).dns_config
    assert dns is not None
    assert dns.servers == ("10.96.0.10", "10.96.0.11", "1.1.1.1")
    assert any(text.startswith("DNSConfigForming: Nameserver limits") for text in world.said("web"))


def test_a_resolv_conf_that_cannot_be_read_holds_the_pod_up_until_it_can() -> None:
    world = World({"web": manifest("web")})
    world.node.host.tree.fail("/etc/resolv.conf")
    world.start().run(15 * SECOND)
    assert world.running() == []
    assert any("resolvConf" in text for text in world.said("web"))
    world.node.host.tree.heal("/etc/resolv.conf")
    world.until(lambda: world.running() == ["web/app"], 30 * SECOND)


@pytest.mark.parametrize(("waits_s", "server"), [(2, "10.0.0.53"), (30, "9.9.9.9")])
def test_the_nodes_file_is_read_while_volumes_are_made_and_again_where_that_takes_long(
    waits_s: int, server: str
) -> None:
    share = {"name": "share", "nfs": {"server": "s", "path": "/"}}
    mounts = [{"name": "share", "mountPath": "/share"}]
    pod = manifest("web", [container(volumeMounts=mounts)], volumes=[share], uid="slow", dnsPolicy="Default")
    world = World({"web": pod})
    tree, dead = world.node.host.tree, f"{ROOT}/pods/slow/volumes/kubernetes.io~nfs"
    tree.write("/etc/resolv.conf", b"nameserver 10.0.0.53\n")
    tree.hang(dead)
    world.start().run(waits_s * SECOND)
    assert world.running() == []
    tree.write("/etc/resolv.conf", b"nameserver 9.9.9.9\n")
    tree.heal(dead)
    world.until(lambda: world.running() == ["web/app"], 60 * SECOND)
    dns = sandbox(world).dns_config
    assert dns is not None
    assert dns.servers == (server,)


def test_pods_that_run_already_do_not_read_the_nodes_file_when_the_agent_is_restarted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World({name: manifest(name, dnsPolicy="Default") for name in ("a", "b", "c")}).start()
    world.until(lambda: len(world.running()) == 3)
    read: list[str] = []
    inner = SimulatedPodFiles.read_node_file

    def read_node_file(files: SimulatedPodFiles, path: str, limit_bytes: int) -> str:
        read.append(path)
        return inner(files, path, limit_bytes)

    monkeypatch.setattr(SimulatedPodFiles, "read_node_file", read_node_file)
    world.node.restart_agent()
    world.run(10 * SECOND)
    assert len(world.running()) == 3
    assert read.count("/etc/resolv.conf") == 1, "somebody looks whether it fits into those of pods"


def test_a_resolv_conf_that_does_not_fit_into_those_of_pods_is_said_of_the_node_once() -> None:
    world = World({"web": manifest("web")})
    names = " ".join(f"s{number}.test" for number in range(40))
    world.node.host.tree.write("/etc/resolv.conf", f"search {names}\n".encode())
    world.start().run(120 * SECOND)
    said = [e for e in world.node.node.events() if e.event.reason == "CheckLimitsForResolvConf"]
    assert [(each.event.kind, each.count) for each in said] == [("Node", 1)]
    assert "more than 29 domains" in said[0].event.message


# (spec 14.3.1)
def test_conformance_kubelet_host_aliases_and_the_pods_own_name_are_in_its_hosts_file() -> None:
    aliases = [{"ip": "123.45.67.89", "hostnames": ["foo", "bar"]}]
    world = settled(hostAliases=aliases, hostname="box", subdomain="sub")
    ip = world.pod("web").status.pod_ip  # type: ignore[union-attr]
    lines = hosts_of(world).splitlines()
    assert lines[0] == "# Kubernetes-managed hosts file."
    assert f"{ip}\tbox.sub.default.svc.cluster.local\tbox" in lines
    assert lines[-1] == "123.45.67.89\tfoo\tbar"
    [mount] = [each for each in record(world).config.mounts if each.container_path == "/etc/hosts"]
    assert (mount.host_path, mount.readonly) == (f"{ROOT}/pods/{uid_of(world)}/etc-hosts", False)


# (spec 14.3.3)
def test_conformance_kubelet_managed_etc_hosts_not_where_mounted_and_not_as_managed_in_the_host_network() -> None:
    own = container("own", volumeMounts=[{"name": "hosts", "mountPath": "/etc/hosts"}])
    volumes = [{"name": "hosts", "hostPath": {"path": "/etc/hosts"}}]
    world = World(
        {
            "web": manifest("web", [container(), own], volumes=volumes),
            "host": manifest("host", hostNetwork=True),
        }
    ).start()
    world.run(10 * SECOND)
    [mount] = [each for each in record(world, "web", "own").config.mounts if each.container_path == "/etc/hosts"]
    assert mount.host_path == "/etc/hosts"
    host = hosts_of(world, "host")
    assert "# Kubernetes-managed hosts file." not in host
    assert text_of(world, "/etc/hosts") in host


def test_the_hosts_file_has_the_address_of_the_newest_sandbox() -> None:
    world = settled()
    first = world.pod("web").status.pod_ip  # type: ignore[union-attr]
    world.cri.lose_sandbox(record(world).sandbox.id)
    world.until(lambda: bool(world.running()) and world.pod("web").status.pod_ip != first, 120 * SECOND)  # type: ignore[union-attr]
    second = world.pod("web").status.pod_ip  # type: ignore[union-attr]
    assert f"{second}\tweb-node" in hosts_of(world)
    assert f"{first}\t" not in hosts_of(world)


# --- users ------------------------------------------------------------------------------------------------------------


def ids_of(world: World, name: str = "web") -> IdRange:
    return read_document(text_of(world, f"{ROOT}/pods/{uid_of(world, name)}/userns"))


def test_a_pod_with_its_own_users_has_ids_that_are_recorded_and_told_to_sandbox_containers_and_mounts() -> None:
    world = World({name: manifest(name, hostUsers=False) for name in ("web", "other")}).start()
    world.run(10 * SECOND)
    first, second = ids_of(world), ids_of(world, "other")
    assert sorted((first.first, second.first)) == [PER_POD, 2 * PER_POD]
    sandbox_security = sandbox(world).linux.security_context  # type: ignore[union-attr]
    made = record(world).config
    for options in (sandbox_security.namespace_options, made.linux.security_context.namespace_options):  # type: ignore[union-attr]
        assert options is not None
        users = options.userns_options
        assert users is not None
        assert users.mode == NamespaceMode.POD
        assert [(each.host_id, each.container_id, each.length) for each in users.uids] == [(first.first, 0, PER_POD)]
        assert users.uids == users.gids
        assert all(each.uidMappings == users.uids for each in made.mounts)


# (spec 2.9.1)
def test_ids_outlive_the_agent_and_end_with_the_pod() -> None:
    world = World({name: manifest(name, hostUsers=False) for name in ("a", "b")}).start()
    world.run(10 * SECOND)
    before = {name: ids_of(world, name) for name in ("a", "b")}
    world.node.restart_agent()
    world.node.put_manifest("c", manifest("c", hostUsers=False))
    world.until(lambda: "c/app" in world.running(), 60 * SECOND)
    assert {name: ids_of(world, name) for name in ("a", "b")} == before
    assert ids_of(world, "c").first == 3 * PER_POD
    world.node.remove_manifest("a")
    world.until(lambda: "a" not in world.phases() and "a/app" not in world.running(), 120 * SECOND)
    world.run(30 * SECOND)
    world.node.put_manifest("d", manifest("d", hostUsers=False))
    world.until(lambda: "d/app" in world.running(), 60 * SECOND)
    assert ids_of(world, "d") == before["a"]


def test_a_pod_that_is_refused_by_its_record_holds_up_no_other() -> None:
    world = World({"a": manifest("a", hostUsers=False)}).start()
    world.run(10 * SECOND)
    uid = uid_of(world, "a")
    world.node.kill()
    world.node.host.tree.write(f"{ROOT}/pods/{uid}/userns", b"{}")
    world.cri.lose_sandbox(record(world, "a").sandbox.id)
    world.node.put_manifest("b", manifest("b", hostUsers=False))
    world.node.restart_agent()
    world.run(30 * SECOND)
    assert world.running() == ["b/app"]
    assert any("no ids for the pod's user namespace" in text for text in world.said("a"))


# --- pods that are not taken ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        pytest.param(
            {"securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}},
            "",
            id="Sysctl, test sysctls",
        ),
        pytest.param(
            {
                "securityContext": {
                    "sysctls": [
                        {"name": "kernel.shm_rmid_forced", "value": "0"},
                        {"name": "kernel.msgmax", "value": "10000000000"},
                    ]
                }
            },
            "SysctlForbidden",
            id="Sysctls, reject invalid sysctls",
        ),
    ],
)
def test_conformance_sysctls(spec: dict[str, Any], reason: str) -> None:
    world = settled(**spec)
    status = world.pod("web").status
    assert status is not None
    assert (status.phase, status.reason or "") == (("Failed", reason) if reason else ("Running", ""))
    if reason:
        assert not world.cri.state.sandboxes
        assert (status.message or "").startswith("Pod was rejected: forbidden sysctl")
        assert any(text.startswith(f"{reason}: ") for text in world.said("web"))
    else:
        linux = sandbox(world).linux
        assert linux is not None
        assert linux.sysctls == {"kernel.shm_rmid_forced": "1"}


def test_a_running_pod_is_not_refused_by_a_stricter_agent() -> None:
    spec = {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}
    allowed = msgspec.structs.replace(IN_A_CLUSTER, allowed_unsafe_sysctls=("kernel.msg*",))
    world = settled(configuration=allowed, **spec)
    assert world.running() == ["web/app"]
    facts = replace(world.node.plan.facts, abilities=Abilities())
    world.node.plan = replace(world.node.plan, facts=facts)
    world.node.restart_agent()
    world.run(60 * SECOND)
    assert world.running() == ["web/app"]
    assert world.phases() == {"web": "Running"}


# (spec 3.9.2)
def test_overhead_is_told_beside_the_sum_of_the_containers() -> None:
    world = settled(container(resources={"requests": {"cpu": "1"}}), overhead={"cpu": "250m", "memory": "64Mi"})
    linux = sandbox(world).linux
    assert linux is not None
    assert linux.overhead is not None
    assert linux.resources is not None
    assert (linux.overhead.cpu_shares, linux.overhead.memory_limit_in_bytes) == (256, 64 * 2**20)
    assert linux.resources.cpu_shares == 1024


# (spec 10.17.1)
def test_the_runtime_is_told_what_the_whole_pod_asks_for_and_not_what_its_containers_do() -> None:
    whole = {"requests": {"cpu": "2", "memory": "1Gi"}}
    world = settled(container(resources={"requests": {"cpu": "1"}}), resources=whole)
    linux = sandbox(world).linux
    assert linux is not None
    assert linux.resources is not None
    assert linux.resources.cpu_shares == 2048
