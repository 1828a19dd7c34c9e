"""What systemd says of `deploy/actorlet.service`, and an agent with only that unit's rights."""

from __future__ import annotations

import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.real.agent import TREE, Agent
from tests.real.components import complaint
from tests.real.pods import Truth, container, pod

UNIT = TREE / "deploy" / "actorlet.service"
EXPOSURE_AT_MOST = 5.8
"""As `systemd-analyze security` counts: 10 is a service with all rights.

It was 9.6 before anything was taken away. The right to make chains of iptables counts 0.2.
"""


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The file, with a command that this machine has."""
    why = complaint()
    if why is not None:
        pytest.fail(why, pytrace=False)
    copy = tmp_path / "actorlet.service"
    copy.write_text(UNIT.read_text().replace("/usr/bin/actorlet", "/bin/true"))
    return copy


def test_systemd_understands_every_line(unit: Path) -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    about_it = [line for line in (done.stdout + done.stderr).splitlines() if unit.name in line]
    assert (done.returncode, about_it) == (0, [])


def test_systemd_counts_it_as_less_exposed(unit: Path) -> None:
    line = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=100", str(unit)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    (overall,) = (each for each in done.stdout.splitlines() if "Overall exposure level" in each)
    assert float(overall.partition(": ")[2].split()[0]) <= EXPOSURE_AT_MOST, done.stdout


def test_an_agent_with_these_rights_runs_pods_with_volumes_of_every_local_kind(agent: Agent, truth: Truth) -> None:
    agent.start(command=[*held_back(), *agent.command()])
    status = Path(f"/proc/{agent.pid}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    volumes = [
        {"name": "disk", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory"}},
        {"name": "host", "hostPath": {"path": str(agent.directory / "made"), "type": "DirectoryOrCreate"}},
    ]
    mounts = [
        {"name": "disk", "mountPath": "/disk", "subPath": "deep/er"},
        {"name": "memory", "mountPath": "/memory"},
        {"name": "host", "mountPath": "/host"},
    ]
    probe = {"exec": {"command": ["test", "-e", "/memory/there"]}, "periodSeconds": 1}
    script = "touch /disk/there /memory/there /host/there; while :; do sleep 1; done"
    one = container("main", script, volumeMounts=mounts, readinessProbe=probe)
    agent.drop("web.json", pod("web", one, volumes=volumes, securityContext={"fsGroup": 2000, "runAsUser": 0}))
    agent.await_running("web")
    agent.await_that(lambda: _ready(agent), "the probe does not see the file")
    life = truth.running("web")
    assert truth.run(life, "stat", "-c", "%g %A", "/memory").split() == ["2000", "drwxrwsrwt"]
    (agent.manifests / "web.json").unlink()
    agent.await_that(lambda: "web" not in agent.pods(), "the pod does not go")
    assert list((agent.root / "pods").iterdir()) == []


def _ready(agent: Agent) -> bool:
    status = agent.container("web")
    return status is not None and bool(status.ready)


def held_back() -> list[str]:
    """A prefix for a command, which takes away what the unit takes away.

    These are capabilities and new privileges.
    """
    parser = ConfigParser(strict=False, interpolation=None)
    parser.read(UNIT)
    names = parser["Service"]["CapabilityBoundingSet"].replace("\\", " ").split()
    kept = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in names if _is_here(name))
    return ["setpriv", "--no-new-privs", "--inh-caps=-all", f"--bounding-set=-all,{kept}"]


def _is_here(name: str) -> bool:
    """Whether this machine has the capability: CI machines lack CAP_SYS_RESOURCE."""
    number = {"CAP_SYS_RESOURCE": 24}.get(name)
    line = next(each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("CapBnd"))
    return number is None or bool(int(line.split()[1], 16) >> number & 1)
