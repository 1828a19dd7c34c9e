"""`deploy/actorlet.service` gives a reason for each directive, and has none that breaks pods.

`tests/real/test_service_unit.py` lets systemd judge the file, and runs an agent with its rights.
"""

from __future__ import annotations

from pathlib import Path

UNIT = Path(__file__).parents[2] / "deploy" / "actorlet.service"
LINES = UNIT.read_text().splitlines()
OF_EVERY_SERVICE = {"Type", "ExecStart", "Restart", "RestartSec"}
BREAKS_PODS = {
    *("PrivateTmp", "PrivateMounts", "PrivateDevices", "PrivateUsers", "PrivateNetwork", "ProtectSystem"),
    *("ProtectHome", "ProtectProc", "ProcSubset", "ProtectHostname", "ProtectKernelModules", "ProtectKernelTunables"),
    *("ProtectKernelLogs", "ProtectControlGroups", "ProtectClock", "DevicePolicy", "DeviceAllow", "MountFlags"),
    *("RestrictSUIDSGID", "RootDirectory", "ReadOnlyPaths", "InaccessiblePaths", "TemporaryFileSystem", "User"),
}
"""Mounts would not reach the runtime, or what volumes, cgroups and tunables need would be refused."""


def directives() -> list[tuple[int, str]]:
    """Line and name of each directive of the service."""
    begin, end = LINES.index("[Service]"), LINES.index("[Install]")
    found = ((at, LINES[at].partition("=")) for at in range(begin, end) if not LINES[at].startswith(("#", " ")))
    return [(at, name) for at, (name, equals, _) in found if equals]


def test_each_directive_has_its_reason_above_it() -> None:
    without = [name for at, name in directives() if name not in OF_EVERY_SERVICE and not _explained(at)]
    assert without == []


def _explained(at: int) -> bool:
    """By a comment above, or above the directive before it."""
    above = LINES[at - 1]
    return above.startswith("# ") or ("=" in above and LINES[at - 2].startswith("# "))


def test_none_takes_mounts_cgroups_or_files_of_pods_away() -> None:
    assert {name for _, name in directives()} & BREAKS_PODS == set()


def test_flags_that_kubeadm_and_people_gave_a_kubelet_reach_the_agent() -> None:
    """Such as `--node-ip`: a node that moves from a kubelet keeps them."""
    files = {line.partition("=-")[2] for line in LINES if line.startswith("EnvironmentFile=-")}
    assert files == {"/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet", "/etc/sysconfig/kubelet"}
    begin = next(at for at, line in enumerate(LINES) if line.startswith("ExecStart="))
    command = " ".join(line.rstrip("\\") for line in LINES[begin : begin + 2]).split()
    assert command[-2:] == ["$KUBELET_KUBEADM_ARGS", "$KUBELET_EXTRA_ARGS"]


def test_containers_outlive_the_agent() -> None:
    assert "KillMode=process" in LINES
