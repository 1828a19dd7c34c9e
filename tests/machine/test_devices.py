"""Devices of a plugin on a whole machine: cgroup v2, where the runtime guards device nodes with eBPF.

The device is the machine's kernel log, which no container may open otherwise. With `ACTORLET_TEST_KUBELET` a kubelet
goes the same way. `ACTORLET_MACHINE_DEVICE_PODS` is the number of pods of a reboot (30 are meant; few are the default).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.device_plugin.plugin import RESOURCE
from tests.machine.alone import AgentAlone
from tests.machine.cdi import describe_devices
from tests.machine.conftest import KIND
from tests.machine.kubelet import PROGRAM, KubeletAlone
from tests.machine.machine import Machine, machine
from tests.machine.root import Root
from tests.machine.whole_node import started_once_more
from tests.real.pods import STAY, container, pod

PODS = int(os.environ.get("ACTORLET_MACHINE_DEVICE_PODS") or 3)
LATE_S = 60
"""The plugin comes so long after the boot."""
LIMIT_S = 1800.0
"""User-mode Linux has one CPU, and thirty pods take it many minutes. Nothing is judged by it."""
_ROOT = Path(__file__).parents[2]
_PLUGIN = """[Unit]
Description=A device plugin of tests

[Service]
{delay}ExecStart=/opt/prepared/bin/python /opt/plugin/device_plugin.py {kind} {count}
Restart=always
RestartSec=1
TimeoutStartSec=infinity

[Install]
WantedBy=multi-user.target
"""
ONE: dict[str, Any] = {"resources": {"limits": {RESOURCE: "1"}}}
USES = f"echo 'a pod uses its device' > $(ls /dev/gpu*) && echo used; env | grep GPU; {STAY}"
STEALS = f"mknod /dev/mine c 1 11 && echo 'a pod steals' > /dev/mine || echo refused; {STAY}"


def serve_devices(one: Machine, kind: str, count: int, delay_s: int = 0) -> None:
    """Have a plugin now and after each boot; `delay_s`: after a boot it waits so long."""
    one.run("mkdir -p /opt/plugin")
    one.put("/opt/plugin/device_plugin.py", (_ROOT / "tests/machine/inside/device_plugin.py").read_text())
    one.put("/opt/plugin/plugin.py", (_ROOT / "tests/device_plugin/plugin.py").read_text())
    delay = f"ExecStartPre=/bin/sleep {delay_s}\n" if delay_s else ""
    unit = _PLUGIN.format(kind=kind, count=count, delay=delay)
    one.put("/etc/systemd/system/sample-plugin.service", unit)
    one.run("systemctl daemon-reload; systemctl enable sample-plugin")


def start_plugin(one: Machine) -> None:
    one.run("rm -f /run/registered; systemctl restart --no-block sample-plugin")
    one.until("test -s /run/registered", "the plugin registers; `journalctl -u sample-plugin` shows why not")


def said(one: Machine, name: str) -> str:
    """By the container of a pod."""
    return one.run(f"cat /var/log/pods/default_{name}-machine-1_*/main/*.log")


@pytest.fixture(scope="module", params=[AgentAlone, KubeletAlone], ids=["agent", "kubelet"])
def agent(roots: Callable[[str], Root], request: pytest.FixtureRequest) -> Iterator[AgentAlone]:
    if request.param is KubeletAlone and not PROGRAM:
        pytest.skip("ACTORLET_TEST_KUBELET names no kubelet")
    with machine(roots(KIND), memory="2G", disk="3G", swap=None) as one:
        describe_devices(one)
        made: AgentAlone = request.param(one)
        made.begin()
        yield made


@pytest.mark.parametrize("kind", ["nodes", "cdi"])
def test_a_device_is_in_the_container_and_nobody_else_may_open_it(agent: AgentAlone, kind: str) -> None:
    one = agent.machine
    serve_devices(one, kind, 2)
    start_plugin(one)
    agent.drop(pod(f"has-{kind}", container(script=USES, **ONE)), pod(f"lacks-{kind}", container(script=STEALS)))
    agent.await_running(f"has-{kind}", f"lacks-{kind}")
    assert "used" in said(one, f"has-{kind}")
    assert "refused" in said(one, f"lacks-{kind}")
    if kind == "cdi":
        assert "=mine" in said(one, "has-cdi")
    agent.withdraw(f"has-{kind}", f"lacks-{kind}")
    agent.await_running()


def test_device_pods_wait_for_a_late_plugin_after_a_reboot(agent: AgentAlone) -> None:
    one = agent.machine
    serve_devices(one, "nodes", PODS)
    start_plugin(one)
    is_kubelet = isinstance(agent, KubeletAlone)
    took_plain_s = 0.0 if is_kubelet else plain_pods_take_s(agent)
    having = tuple(f"having{number}" for number in range(PODS))
    agent.drop(*(pod(name, container(**ONE)) for name in having))
    agent.await_running(*having, limit_s=LIMIT_S)
    before = agent.restarts()
    serve_devices(one, "nodes", PODS, delay_s=LATE_S)
    reboot(one)
    one.until("test -s /run/registered", "the plugin registers", 600)
    came_s = float(one.read("/run/registered"))
    if is_kubelet:
        one.run("sleep 60")
        phases = Counter(each["status"]["phase"] for each in agent.pods().values())
        print(f"\na kubelet, {PODS} device pods and a plugin that comes late: {dict(phases)}")
        return
    agent.await_running(*having, limit_s=LIMIT_S)
    took_s = uptime_s(one) - came_s
    print(f"\n{PODS} pods: plain ones {took_plain_s:.0f} s after the agent is ready")
    print(f"with devices {took_s:.0f} s after their plugin has come: {took_s / took_plain_s:.2f} times")
    started_once_more(agent, before)


def plain_pods_take_s(agent: AgentAlone) -> float:
    """From the agent's being ready after a reboot until as many pods without devices run."""
    one, plain = agent.machine, tuple(f"plain{number}" for number in range(PODS))
    agent.drop(*map(pod, plain))
    agent.await_running(*plain, limit_s=LIMIT_S)
    before = agent.restarts()
    reboot(one)
    agent.await_running(*plain, limit_s=LIMIT_S)
    started_once_more(agent, before)
    took_s = uptime_s(one) - float(one.run(READY_AT.format(unit=agent.unit))) / 1e6
    agent.withdraw(*plain)
    agent.await_running(limit_s=LIMIT_S)
    return took_s


READY_AT = "systemctl show {unit} -p ActiveEnterTimestampMonotonic --value"


def reboot(one: Machine) -> None:
    """Off as systemd does it, and on."""
    one.power_off()
    one.boot()


def uptime_s(one: Machine) -> float:
    return float(one.run("cat /proc/uptime").split()[0])
