"""What a pod on containerd is to itself, seen from inside.

Names, resolver, hosts file, users, privileges, namespaces (spec 3.8, 3.9, 14, 17.4, 17.5). Conformance behaviours are
named in the tests.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.real.agent import NODE, Agent
from tests.real.pods import Truth, container, pod

CLUSTER = {"clusterDNS": ["10.96.0.10"], "clusterDomain": "cluster.local"}
MANAGED = "# Kubernetes-managed hosts file."


def process_line(truth: Truth, pod_name: str, line: str, name: str = "main") -> str:
    """A line of /proc/1/status in a container."""
    lines = truth.run(truth.running(pod_name, name), "cat", "/proc/1/status").splitlines()
    return next(each.partition(":")[2].strip() for each in lines if each.startswith(f"{line}:"))


def said(agent: Agent, name: str, reason: str) -> list[str]:
    return [each.event.message for each in agent.events_of(name, reason)]


@pytest.fixture
def node_resolver(agent: Agent) -> Path:
    """A resolv.conf of the node's own, so that the tests do not depend on this machine's."""
    path = agent.directory / "resolv.conf"
    path.write_text("nameserver 192.0.2.53\nsearch example.test\noptions rotate\n")
    agent.configure(resolvConf=str(path), **CLUSTER)
    return path


# (spec 14.1.1)
def test_14_1_the_resolver_of_each_policy(agent: Agent, truth: Truth, node_resolver: Path) -> None:
    """Conformance: DNS, custom dnsConfig."""
    own = {"nameservers": ["1.1.1.1"], "searches": ["resolv.conf.local"], "options": [{"name": "ndots", "value": "2"}]}
    agent.drop("cluster.json", pod("cluster", dnsConfig={"options": [{"name": "timeout", "value": "1"}]}))
    agent.drop("default.json", pod("default", dnsPolicy="Default"))
    agent.drop("none.json", pod("none", dnsPolicy="None", dnsConfig=own))
    agent.drop("host.json", pod("host", hostNetwork=True))
    agent.drop("hostnet.json", pod("hostnet", hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet"))
    agent.start()
    names = ("cluster", "default", "none", "host", "hostnet")
    agent.await_running(*names)
    text = {name: truth.run(truth.running(name), "cat", "/etc/resolv.conf").splitlines() for name in names}
    searches = "search default.svc.cluster.local svc.cluster.local cluster.local example.test"
    assert text["cluster"] == [searches, "nameserver 10.96.0.10", "options ndots:5 timeout:1"]
    of_node = ["search example.test", "nameserver 192.0.2.53", "options rotate"]
    assert text["default"] == of_node
    assert text["none"] == ["search resolv.conf.local", "nameserver 1.1.1.1", "options ndots:2"]
    assert text["host"] == of_node
    assert text["hostnet"] == [searches, "nameserver 10.96.0.10", "options ndots:5"]


def test_14_1_a_missing_cluster_dns_is_said_and_a_broken_file_of_the_node_holds_the_pod_up(
    agent: Agent, truth: Truth, node_resolver: Path
) -> None:
    agent.configure(resolvConf=str(node_resolver))
    node_resolver.write_text("nameserver\n")
    agent.drop("web.json", pod("web"))
    agent.start()
    agent.await_that(lambda: said(agent, "web", "FailedCreatePodSandBox"), "nothing is said of the file")
    assert "line 1" in said(agent, "web", "FailedCreatePodSandBox")[0]
    node_resolver.write_text("nameserver 192.0.2.53\n")
    agent.await_running("web")
    assert truth.run(truth.running("web"), "cat", "/etc/resolv.conf").strip() == "nameserver 192.0.2.53"
    assert len(said(agent, "web", "MissingClusterDNS")) == 1


# (spec 14.2.1)
def test_14_2_and_14_3_host_names_and_hosts_files(agent: Agent, truth: Truth, node_resolver: Path) -> None:
    """Conformance: Kubelet, hostAliases. Kubelet, managed etc hosts."""
    aliases = [{"ip": "123.45.67.89", "hostnames": ["foo", "bar"]}]
    own = container("own", volumeMounts=[{"name": "hosts", "mountPath": "/etc/hosts"}])
    volumes = [{"name": "hosts", "hostPath": {"path": "/etc/hosts"}}]
    full = pod("full", hostname="box", subdomain="sub", setHostnameAsFQDN=True)
    agent.drop("web.json", pod("web", container(), own, hostAliases=aliases, volumes=volumes))
    agent.drop("full.json", full)
    agent.drop("short.json", pod("short", hostname="box", subdomain="sub"))
    agent.drop("other.json", pod("other", hostnameOverride="other.example.test"))
    agent.drop("host.json", pod("host", hostNetwork=True, hostAliases=aliases))
    long = pod("long", hostname="box", subdomain="s" * 60, setHostnameAsFQDN=True)
    agent.drop("long.json", long)
    agent.start()
    agent.await_running("web", "full", "short", "other", "host")
    ip = agent.status("web").pod_ip
    managed = truth.run(truth.running("web"), "cat", "/etc/hosts").splitlines()
    assert managed[0] == MANAGED
    assert f"{ip}\tweb-{NODE}" in managed
    assert managed[-1] == "123.45.67.89\tfoo\tbar"
    on_disk = agent.root / "pods" / agent.pod("web").metadata.uid / "etc-hosts"
    assert on_disk.read_text().splitlines() == managed
    assert on_disk.stat().st_mode & 0o777 == 0o644
    truth.run(truth.running("web"), "sh", "-c", "echo 1.2.3.4 mine >> /etc/hosts")
    of_host = Path("/etc/hosts").read_text()
    assert truth.run(truth.running("web", "own"), "cat", "/etc/hosts") == of_host
    in_host = truth.run(truth.running("host"), "cat", "/etc/hosts")
    assert MANAGED not in in_host
    assert of_host in in_host
    assert in_host.endswith("123.45.67.89\tfoo\tbar\n")

    domain = "sub.default.svc.cluster.local"
    assert truth.run(truth.running("full"), "hostname").strip() == f"box.{domain}"
    assert truth.run(truth.running("short"), "hostname").strip() == "box"
    assert truth.run(truth.running("short"), "hostname", "-f").strip() == f"box.{domain}"
    assert truth.run(truth.running("other"), "hostname").strip() == "other.example.test"
    agent.await_that(lambda: said(agent, "long", "FailedCreatePodSandBox"), "a name too long is not refused")
    assert "64 characters is the max" in said(agent, "long", "FailedCreatePodSandBox")[0]
    assert truth.sandboxes("long") == ()


def test_14_3_the_hosts_file_has_the_addresses_of_the_newest_sandbox(agent: Agent, truth: Truth) -> None:
    agent.drop("web.json", pod("web"))
    agent.start()
    agent.await_running("web")
    first = agent.status("web").pod_ip
    (sandbox,) = truth.sandboxes("web")
    truth.stop_sandbox(sandbox.id)
    agent.await_that(lambda: agent.status("web").pod_ip not in (first, None, ""), "it has no new address")
    agent.await_running("web")
    lines = truth.run(truth.running("web"), "cat", "/etc/hosts").splitlines()
    assert f"{agent.status('web').pod_ip}\tweb-{NODE}" in lines
    assert not [each for each in lines if each.startswith(f"{first}\t")]


def test_17_4_users_groups_and_privileges(agent: Agent, truth: Truth) -> None:
    """Conformance: Security Context, runAsUser=65534.

    RunAsGroup at pod and container level; privileged=false; allowPrivilegeEscalation=false; readOnlyRootFilesystem=true
    and false.
    """
    whole = {"runAsUser": 1001, "runAsGroup": 2002}
    tight = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "runAsGroup": 3003}
    nobody = {"runAsUser": 65534, "readOnlyRootFilesystem": False}
    agent.drop(
        "users.json",
        pod(
            "users",
            container(),
            container("tight", securityContext=tight),
            container("nobody", securityContext=nobody),
            securityContext=whole,
        ),
    )
    agent.drop(
        "roots.json",
        pod(
            "roots",
            container(securityContext={"privileged": False}),
            container("free", securityContext={"privileged": True}),
            container("default", securityContext={"seccompProfile": {"type": "RuntimeDefault"}}),
        ),
    )
    agent.start()
    agent.await_running("users", "roots")

    def ids(name: str) -> list[str]:
        return truth.run(truth.running("users", name), "sh", "-c", "id -u; id -g").split()

    assert ids("main") == ["1001", "2002"]
    assert ids("tight") == ["1001", "3003"]
    assert ids("nobody") == ["65534", "2002"]
    assert process_line(truth, "users", "NoNewPrivs", "tight") == "1"
    assert process_line(truth, "users", "NoNewPrivs") == "0"
    write = "touch /tmp/x 2>/dev/null && echo yes || echo no"
    assert truth.run(truth.running("users", "tight"), "sh", "-c", write) == "no\n"
    assert truth.run(truth.running("users", "nobody"), "sh", "-c", write) == "yes\n"
    device = "mknod /tmp/null c 1 3 2>/dev/null; ip link add dummy9 type dummy 2>/dev/null && echo yes || echo no"
    assert truth.run(truth.running("roots"), "sh", "-c", device) == "no\n"
    assert int(process_line(truth, "roots", "CapEff", "free"), 16) > int(process_line(truth, "roots", "CapEff"), 16)
    assert process_line(truth, "roots", "Seccomp") == "0"
    assert process_line(truth, "roots", "Seccomp", "default") == "2"
    masked = truth.run(truth.running("roots"), "sh", "-c", "cat /proc/keys /proc/timer_list | wc -c")
    assert masked.strip() == "0"
    assert "Read-only" in truth.run(
        truth.running("roots"),
        "sh",
        "-c",
        "echo 1 2>&1 > /proc/sysrq-trigger || true; "
        "touch /proc/sys/x 2>&1 || true; echo b 2>&1 >/proc/sys/kernel/domainname || true"
        "; mount | grep 'proc/sys ' | grep -q '(ro' && echo Read-only",
    )


# (spec 3.8.9)
def test_3_8_run_as_non_root_is_verified(agent: Agent, truth: Truth) -> None:
    """Name of a pod -> its image, further fields of its security context, and its refusal.

    The refusal is empty where the pod is not refused.
    """
    pods: dict[str, tuple[str, dict[str, Any], str]] = {
        "nobody": ("actorlet.test/busybox:1", {}, "root"),
        "by-name": ("actorlet.test/user-name:1", {}, "image has non-numeric user (app)"),
        "explicit-0": ("actorlet.test/user-id:1", {"runAsUser": 0}, "root"),
        "by-number": ("actorlet.test/user-id:1", {}, ""),
        "explicit": ("actorlet.test/user-name:1", {"runAsUser": 1000}, ""),
    }
    for name, (image, fields, _) in pods.items():
        main = {**container(securityContext={"runAsNonRoot": True, **fields}), "image": image}
        agent.drop(f"{name}.json", pod(name, main))
    agent.start()
    agent.await_running(*(name for name, (_, _, words) in pods.items() if not words))
    for name, (_, _, words) in pods.items():
        if not words:
            assert truth.run(truth.running(name), "id", "-u") == "1000\n"
            continue
        agent.await_that(lambda: agent.waiting(name)[0] == "CreateContainerConfigError", f"{name} is not refused")  # noqa: B023
        reason, message = agent.waiting(name)
        assert words in message, (name, reason, message)
        assert message.endswith(", container: main)")
        assert truth.lives(name) == ()


# (spec 3.9.4)
def test_3_9_namespaces_that_are_shared(agent: Agent, truth: Truth) -> None:
    """shareProcessNamespace, hostPID and hostIPC."""
    agent.drop("alone.json", pod("alone", container(), container("two", "exec sleep 987651")))
    agent.drop(
        "shared.json", pod("shared", container(), container("two", "exec sleep 987652"), shareProcessNamespace=True)
    )
    agent.drop("host.json", pod("host", hostPID=True, hostIPC=True))
    agent.start()
    agent.await_running("alone", "shared", "host")
    assert "987651" not in truth.run(truth.running("alone"), "ps")
    assert "987652" in truth.run(truth.running("shared"), "ps")
    host = truth.running("host")
    assert truth.run(host, "readlink", "/proc/self/ns/pid").strip() == os.readlink("/proc/self/ns/pid")
    assert truth.run(host, "readlink", "/proc/self/ns/ipc").strip() == os.readlink("/proc/self/ns/ipc")
    alone = truth.running("alone")
    assert truth.run(alone, "readlink", "/proc/self/ns/ipc").strip() != os.readlink("/proc/self/ns/ipc")


def test_17_5_sysctls(agent: Agent, truth: Truth) -> None:
    """Conformance: Sysctl, test sysctls. Sysctls, reject invalid sysctls."""
    agent.configure(allowedUnsafeSysctls=["kernel.msg*"])

    def sysctls(*names_and_values: tuple[str, str]) -> dict[str, Any]:
        return {"sysctls": [{"name": name, "value": value} for name, value in names_and_values]}

    safe = (("kernel.shm_rmid_forced", "1"), ("kernel/msgmax", "4242"), ("net.ipv4.ip_local_port_range", "40000 50000"))
    agent.drop("safe.json", pod("safe", securityContext=sysctls(*safe)))
    agent.drop("bad.json", pod("bad", securityContext=sysctls(safe[0], ("kernel.shmmax", "1"))))
    agent.start()
    agent.await_running("safe")
    assert truth.run(truth.running("safe"), "cat", "/proc/sys/kernel/shm_rmid_forced") == "1\n"
    assert truth.run(truth.running("safe"), "cat", "/proc/sys/kernel/msgmax") == "4242\n"
    assert truth.run(truth.running("safe"), "cat", "/proc/sys/net/ipv4/ip_local_port_range").split() == [
        "40000",
        "50000",
    ]
    agent.await_that(lambda: agent.status("bad").phase == "Failed", "it is not rejected")
    assert agent.status("bad").reason == "SysctlForbidden"
    assert truth.sandboxes("bad") == ()
    assert said(agent, "bad", "SysctlForbidden")


def test_a_feature_that_the_runtime_lacks_is_refused(agent: Agent, truth: Truth) -> None:
    """containerd 1.6 knows neither user namespaces nor the policy Strict of groups."""
    agent.drop("users.json", pod("users", hostUsers=False))
    strict = {"supplementalGroups": [4444], "supplementalGroupsPolicy": "Strict"}
    agent.drop("strict.json", pod("strict", securityContext=strict))
    agent.start()
    agent.await_that(lambda: said(agent, "users", "FailedCreatePodSandBox"), "user namespaces are not refused")
    assert "does not support user namespaces" in said(agent, "users", "FailedCreatePodSandBox")[0]
    agent.await_that(lambda: agent.status("strict").phase == "Failed", "the policy is not refused")
    assert agent.status("strict").reason == "SupplementalGroupsPolicyNotSupported"
    assert truth.sandboxes("users") == truth.sandboxes("strict") == ()
