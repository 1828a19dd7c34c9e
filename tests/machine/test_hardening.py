"""What the unit of `deploy/` holds back stops nothing that a pod needs.

Every pod here needs something of the host that a unit may be denied. The servers that it mounts are on the machine
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.machine import plane
from tests.machine.conftest import KIND
from tests.machine.machine import Machine, machine
from tests.machine.plane import Plane
from tests.machine.root import Root
from tests.real.pods import container, pod

TARGET = "iqn.2026-11.test.actorlet:disk"
BLOCK_MIB = 32
DISKS = {"uml": "/dev/ubdb", "qemu": "/dev/vdb"}
PROFILE = "profile held flags=(attach_disconnected,mediate_deleted) { file, network, capability, deny /srv/** rwklx, }"
NO_CHMOD = """{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
  {"names": ["chmod", "fchmodat"], "action": "SCMP_ACT_ERRNO"}]}"""
TOKEN_PROGRAM = """#!/bin/sh
date +%s >> /root/asked
printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}' \
    "$(cat /root/plane/token)"
"""


@pytest.fixture(scope="module")
def node(roots: Callable[[str], Root]) -> Iterator[Plane]:
    """A node whose agent runs by its unit, on a machine with servers of NFS and iSCSI."""
    if (why := plane.complaint()) is not None:
        pytest.skip(why)
    words = ("security=apparmor", "apparmor=1")
    with machine(
        roots(KIND), memory="2G", disk="6G", swap=None, more_disks=(f"{BLOCK_MIB}M",), kernel_words=words
    ) as one:
        _serve_nfs(one)
        _serve_iscsi(one)
        one.put("/var/lib/kubelet/seccomp/no-chmod.json", NO_CHMOD)
        one.put("/etc/apparmor.d/held", PROFILE)
        one.run("apparmor_parser -r /etc/apparmor.d/held")
        found = plane.begin(one, "")
        # No controller attaches disks here: the node does it itself.
        found.start_agent(enableControllerAttachDetach=False, allowedUnsafeSysctls=["net.core.somaxconn"])
        yield found


def test_nfs(node: Plane) -> None:
    volume = {"name": "data", "nfs": {"server": "127.0.0.1", "path": "/srv/nfs"}}
    node.run_pods(_mounting("nfs", volume))
    assert node.say("nfs", "cat /data/told; echo back > /data/answer") == "of the server\n"
    assert node.machine.read("/srv/nfs/answer") == "back\n"
    _ends(node, "nfs", "/srv/nfs")


def test_iscsi(node: Plane) -> None:
    source = {"targetPortal": "127.0.0.1:3260", "iqn": TARGET, "lun": 1, "fsType": "ext4"}
    node.run_pods(_mounting("iscsi", {"name": "data", "iscsi": source}))
    assert node.say("iscsi", "echo kept > /data/file; grep ' /data ' /proc/mounts").split()[2] == "ext4"
    _ends(node, "iscsi", TARGET)
    assert "No active sessions" in node.machine.run("iscsiadm -m session 2>&1", may_fail=True)
    node.run_pods(_mounting("iscsi", {"name": "data", "iscsi": source}))
    assert node.say("iscsi", "cat /data/file") == "kept\n"


def test_a_raw_disk(node: Plane) -> None:
    _claim(node, "raw", {"local": {"path": DISKS[node.machine.kind]}}, "Block")
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "raw"}}
    raw = container(volumeDevices=[{"name": "data", "devicePath": "/dev/raw"}])
    node.run_pods(pod("raw", raw, volumes=[volume]))
    node.say("raw", "echo written | dd of=/dev/raw bs=512 conv=sync 2>/dev/null")
    assert node.machine.run(f"head -c 7 {DISKS[node.machine.kind]}") == "written"


def test_seccomp_profiles(node: Plane) -> None:
    local = {"seccompProfile": {"type": "Localhost", "localhostProfile": "no-chmod.json"}}
    default = {"seccompProfile": {"type": "RuntimeDefault"}}
    node.run_pods(pod("denied", container(securityContext=local)), pod("default", container(securityContext=default)))
    script = "touch /tmp/f; chmod 600 /tmp/f 2>/dev/null; echo $?; grep Seccomp: /proc/1/status"
    assert node.say("denied", script).split() == ["1", "Seccomp:", "2"]
    assert node.say("default", script).split() == ["0", "Seccomp:", "2"]


def test_apparmor_profiles(node: Plane) -> None:
    local = {"appArmorProfile": {"type": "Localhost", "localhostProfile": "held"}}
    default = {"appArmorProfile": {"type": "RuntimeDefault"}}
    node.run_pods(pod("held", container(securityContext=local)), pod("shielded", container(securityContext=default)))
    assert node.say("held", "cat /proc/1/attr/current") == "held (enforce)\n"
    assert node.say("shielded", "cat /proc/1/attr/current") == "cri-containerd.apparmor.d (enforce)\n"


def test_sysctls(node: Plane) -> None:
    wanted = [
        {"name": "net.ipv4.ip_unprivileged_port_start", "value": "79"},
        {"name": "net.core.somaxconn", "value": "99"},
    ]
    node.run_pods(pod("tuned", securityContext={"sysctls": wanted}))
    read = "cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/net/core/somaxconn"
    assert node.say("tuned", read).split() == ["79", "99"]


def test_chains_of_packet_rules(node: Plane) -> None:
    one = node.machine
    if one.tried("iptables -t mangle -N PROBE && iptables -t mangle -X PROBE").status != 0:
        # The kernel of user-mode Linux has no nf_tables for IPv4.
        one.run("modprobe -a ip_tables ip6_tables")
        one.run("for each in iptables ip6tables; do update-alternatives --set $each /usr/sbin/$each-legacy; done")
        one.run("systemctl restart actorlet")
    one.until(
        "iptables-save | grep KUBE-FIREWALL", "the chains are made; the agent's journal says why not", limit_s=120
    )


def test_a_program_gives_the_credentials(node: Plane) -> None:
    """A kubeconfig may name a program instead of a token, as those of cloud providers do."""
    node.machine.put("/usr/local/bin/credentials", TOKEN_PROGRAM)
    called = (
        "{apiVersion: client.authentication.k8s.io/v1, command: /usr/local/bin/credentials, interactiveMode: Never}"
    )
    node.machine.run(
        "set -e; chmod 755 /usr/local/bin/credentials; cp /etc/kubernetes/kubelet.conf /root/kept.conf\n"
        f"/opt/prepared/bin/python - <<'END'\n{_EXCHANGE}\nEND\n".replace("CALLED", called)
        + "systemctl restart actorlet"
    )
    node.machine.until("test -s /root/asked", "the program is asked; the agent's journal says why not")
    node.run_pods(pod("after"))
    node.machine.run("cp /root/kept.conf /etc/kubernetes/kubelet.conf; systemctl restart actorlet")


_EXCHANGE = """
import yaml
path = "/etc/kubernetes/kubelet.conf"
document = yaml.safe_load(open(path))
document["users"][0]["user"] = {"exec": yaml.safe_load('CALLED')}
open(path, "w").write(yaml.safe_dump(document))
"""


def _mounting(name: str, volume: dict[str, Any]) -> dict[str, Any]:
    return pod(name, container(volumeMounts=[{"name": "data", "mountPath": "/data"}]), volumes=[volume])


def _ends(node: Plane, name: str, source: str) -> None:
    """The pod goes, and its mount with it."""
    node.kubectl("delete", "pod", name)
    node.machine.until(f"! findmnt -rn -o SOURCE,TARGET | grep kubelet | grep '{source}'", f"{source} is unmounted")


def _claim(node: Plane, name: str, source: dict[str, Any], mode: str) -> None:
    """A volume and the claim that has it, bound to each other."""
    terms = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeMode": mode}
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["machine-1"]}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**terms, "volumeName": name, "resources": {"requests": {"storage": f"{BLOCK_MIB}Mi"}}},
    }
    node.kubectl("apply", "-f", "-", stdin=claim)
    uid = node.kubectl("get", "pvc", name, "-o", "jsonpath={.metadata.uid}")
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            **terms,
            **source,
            "capacity": {"storage": f"{BLOCK_MIB}Mi"},
            "claimRef": {"namespace": "default", "name": name, "uid": uid},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }
    node.kubectl("apply", "-f", "-", stdin=volume)
    bound = '{"status": {"phase": "Bound"}}'
    node.kubectl("patch", "pvc", name, "--subresource=status", "--type=merge", "-p", bound)


def _serve_nfs(one: Machine) -> None:
    one.run("mkdir -p /srv/nfs; chmod 777 /srv/nfs; echo of the server > /srv/nfs/told")
    one.put("/etc/exports", "/srv/nfs 127.0.0.1(rw,no_root_squash,no_subtree_check,fsid=1)\n")
    one.run("systemctl start nfs-server")


def _serve_iscsi(one: Machine) -> None:
    one.run(
        "set -e; truncate -s 64M /srv/disk; systemctl start tgt iscsid\n"
        f"tgtadm --lld iscsi --op new --mode target --tid 1 -T {TARGET}\n"
        "tgtadm --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b /srv/disk\n"
        "tgtadm --lld iscsi --op bind --mode target --tid 1 -I ALL"
    )
