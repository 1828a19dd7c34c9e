"""What limits a container on containerd (spec 3.8, 3.9, 17.4).

Profiles of seccomp, capabilities, and AppArmor where the machine has it. Also what the runtime is told though this
machine cannot show it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.cri.messages import ContainerStatusRequest, PodSandboxStatusRequest
from runtime.cri.verbs import CONTAINER_STATUS, POD_SANDBOX_STATUS
from tests.real.agent import Agent
from tests.real.pods import Truth, container, pod

NO_DIRECTORIES = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}],
}
APPARMOR = Path("/sys/module/apparmor/parameters/enabled")
BITS = {"CHOWN": 0, "NET_BIND_SERVICE": 10, "NET_ADMIN": 12, "SYS_TIME": 25}


def status_line(truth: Truth, pod_name: str, line: str, name: str = "main") -> str:
    """A line of /proc/1/status in a container."""
    lines = truth.run(truth.running(pod_name, name), "cat", "/proc/1/status").splitlines()
    return next(each.partition(":")[2].strip() for each in lines if each.startswith(f"{line}:"))


def told_of_container(truth: Truth, pod_name: str) -> Any:
    """The configuration of a container, as the runtime has it."""
    request = ContainerStatusRequest(container_id=truth.running(pod_name).id, verbose=True)
    return json.loads(truth.ask(CONTAINER_STATUS, request).info["info"])["config"]


def told_of_sandbox(truth: Truth, pod_name: str) -> Any:
    """The configuration of a sandbox, as the runtime has it."""
    (sandbox,) = truth.sandboxes(pod_name)
    request = PodSandboxStatusRequest(pod_sandbox_id=sandbox.id, verbose=True)
    return json.loads(truth.ask(POD_SANDBOX_STATUS, request).info["info"])["config"]


@pytest.fixture(scope="module")
def agent(shared_agent: Agent) -> Agent:
    """One for all tests here, whose pods have names of their own."""
    shared_agent.configure(seccompDefault=True)
    shared_agent.start()
    return shared_agent


@pytest.fixture(scope="module")
def truth(shared_truth: Truth) -> Truth:
    return shared_truth


# (spec 17.4.1)
def test_17_4_profiles_of_seccomp(agent: Agent, truth: Truth) -> None:
    profiles = agent.root / "seccomp" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "no-directories.json").write_text(json.dumps(NO_DIRECTORIES))

    def profile(kind: str, path: str = "") -> dict[str, Any]:
        return {"seccompProfile": {"type": kind, **({"localhostProfile": path} if path else {})}}

    own = profile("Localhost", "profiles/no-directories.json")
    containers = [
        container("own", securityContext=own),
        container("pods"),
        container("none", securityContext=profile("Unconfined")),
    ]
    agent.drop("kinds.json", pod("kinds", *containers, securityContext=profile("RuntimeDefault")))
    agent.drop("usual.json", pod("usual"))
    missing = container(securityContext=profile("Localhost", "profiles/nowhere.json"))
    agent.drop("missing.json", pod("missing", missing))
    agent.await_running("kinds", "usual")
    makes = ("sh", "-c", "mkdir /tmp/new 2>/dev/null && echo made || echo refused")
    assert truth.run(truth.running("kinds", "own"), *makes) == "refused\n"
    assert truth.run(truth.running("kinds", "pods"), *makes) == "made\n"
    assert {name: status_line(truth, "kinds", "Seccomp", name) for name in ("own", "pods", "none")} == {
        "own": "2",
        "pods": "2",
        "none": "0",
    }
    assert status_line(truth, "usual", "Seccomp") == "2", "the node's default"
    agent.await_that(lambda: agent.waiting("missing")[0], "a profile that is not there is passed over")
    assert agent.waiting("missing")[0] in ("CreateContainerError", "RunContainerError", "CreateContainerConfigError")


# (spec 17.4.6)
def test_17_4_capabilities_are_added_and_dropped_one_by_one(agent: Agent, truth: Truth) -> None:
    def capabilities(name: str, **lists: list[str]) -> dict[str, Any]:
        return container(name, securityContext={"capabilities": lists})

    containers = [
        container("usual"),
        capabilities("more", add=["NET_ADMIN", "SYS_TIME"]),
        capabilities("less", drop=["CHOWN"]),
        capabilities("only", drop=["ALL"], add=["NET_BIND_SERVICE"]),
        capabilities("all", add=["ALL"]),
    ]
    agent.drop("caps.json", pod("caps", *containers))
    agent.await_running("caps")

    def of(name: str) -> set[str]:
        held = int(status_line(truth, "caps", "CapEff", name), 16)
        return {capability for capability, bit in BITS.items() if held & 1 << bit}

    assert of("usual") == {"CHOWN", "NET_BIND_SERVICE"}
    assert of("more") == set(BITS)
    assert of("less") == {"NET_BIND_SERVICE"}
    assert of("only") == {"NET_BIND_SERVICE"}
    assert of("all") == set(BITS)
    change = ("sh", "-c", "ip link add d0 type dummy 2>/dev/null; touch /tmp/x; chown 5 /tmp/x 2>/dev/null && echo yes")
    assert truth.run(truth.running("caps", "usual"), *change) == "yes\n"


def test_17_4_apparmor_is_applied_or_the_pod_is_refused(agent: Agent, truth: Truth) -> None:
    confined = {"appArmorProfile": {"type": "RuntimeDefault"}}
    agent.drop("confined.json", pod("confined", container(securityContext=confined)))
    agent.drop("free.json", pod("free", container(securityContext={"appArmorProfile": {"type": "Unconfined"}})))
    agent.await_running("free")
    if APPARMOR.exists() and APPARMOR.read_text().startswith("Y"):
        agent.await_running("confined")
        assert "(enforce)" in truth.run(truth.running("confined"), "cat", "/proc/1/attr/current")
        return
    agent.await_that(lambda: agent.status("confined").phase == "Failed", "it runs unconfined")
    assert agent.status("confined").reason == "AppArmor"
    assert "AppArmor is not enabled" in (agent.status("confined").message or "")
    assert truth.sandboxes("confined") == ()
    assert agent.events_of("confined", "AppArmor")


def test_3_8_and_3_9_the_runtime_gets_selinux_options_overhead_and_resources(agent: Agent, truth: Truth) -> None:
    """Where the kernel has no SELinux, labels change nothing.

    The overhead is for who makes the cgroup of the pod.
    """
    whole = {"seLinuxOptions": {"user": "u", "role": "r", "type": "t", "level": "s0:c1,c2"}}
    own = {"seLinuxOptions": {"type": "other", "level": "s0:c3"}}
    main = container(securityContext=own, resources={"requests": {"cpu": "500m"}, "limits": {"memory": "64Mi"}})
    agent.drop("told.json", pod("told", main, securityContext=whole, overhead={"cpu": "250m", "memory": "16Mi"}))
    agent.await_running("told")
    box = told_of_sandbox(truth, "told")["linux"]
    assert box["security_context"]["selinux_options"] == {"user": "u", "role": "r", "type": "t", "level": "s0:c1,c2"}
    assert box["overhead"].items() >= {"cpu_shares": 256, "memory_limit_in_bytes": 16 * 2**20}.items()
    assert box["resources"]["cpu_shares"] == 512
    assert box["resources"]["memory_limit_in_bytes"] == 64 * 2**20
    made = told_of_container(truth, "told")["linux"]["security_context"]["selinux_options"]
    assert (made["type"], made["level"]) == ("other", "s0:c3")
