"""The private containerd leaves nothing behind, and says what it lacks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.cri.messages import ContainerState, PortMapping
from tests.ports import free_port
from tests.real import components
from tests.real.containerd import Containerd, nat_rules
from tests.real.images import PAUSE, RECIPES, build
from tests.real.test_containerd_verbs import Pod
from tests.real.waiting import until


def traces(private: Containerd) -> list[str]:
    """Everything on this machine that bears the name of a private containerd."""
    name = private.directory.name
    found = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if name in line]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = process.read_bytes()
        except OSError:
            continue
        if name.encode() in command:
            found.append(command.decode(errors="replace"))
    found += [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/{name}")]
    found += [path.name for path in Path("/sys/class/net").iterdir() if path.name == private.bridge]
    found += [rule for rule in nat_rules() if private.bridge in rule]
    return found + ([str(private.directory)] if private.directory.exists() else [])


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_nothing_is_left_of_pods_whether_containerd_was_stopped_or_killed(killed: bool) -> None:
    assert components.complaint() is None, components.complaint()
    before = Path("/proc/sys/net/ipv4/ip_forward").read_text()
    private = Containerd()
    pid = 0
    try:
        private.start()
        private.load([build(recipe) for recipe in RECIPES])
        with private.connect() as cri:
            pod = Pod(cri, private, "left", port_mappings=(PortMapping(container_port=80, host_port=free_port()),))
            main = pod.run("sh", "-c", "echo $$; sleep 1000")
            assert pod.status(main).state == ContainerState.CONTAINER_RUNNING
            until(lambda: pod.log(), 10, "the container has written")
            (pid,) = (int(line.split()[1]) for line in private.ctr("tasks", "ls").splitlines() if main in line)
        assert len(traces(private)) > 3
        if killed:
            private.kill()
    finally:
        private.stop()
    assert traces(private) == []
    assert not Path(f"/proc/{pid}").exists() or os.getpid() == pid
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == before


def test_a_missing_component_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(components.NEEDED, "no-such-tool", "a-package")
    said = components.complaint()
    assert said is not None
    assert "missing here: no-such-tool; run `apt-get install a-package`" in said


def test_the_sandbox_image_is_among_those_that_are_built() -> None:
    assert PAUSE in [recipe.name for recipe in RECIPES]
