"""The runtime under the agent is missing, late, killed, or restarted (spec 2.10, 2.12).

Or it runs what nobody wants.
"""

from __future__ import annotations

import json
from pathlib import Path

from config.objects import Pod
from runtime.cri.client import GrpcCri
from runtime.cri.identity import CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID
from runtime.cri.messages import (
    ContainerConfig,
    ContainerMetadata,
    CreateContainerRequest,
    ImageSpec,
    LinuxPodSandboxConfig,
    PodSandboxConfig,
    PodSandboxMetadata,
    RunPodSandboxRequest,
    StartContainerRequest,
)
from runtime.cri.verbs import CREATE_CONTAINER, RUN_POD_SANDBOX, START_CONTAINER
from tests.ports import free_port
from tests.real.agent import NODE, Agent
from tests.real.containerd import Containerd
from tests.real.images import BUSYBOX, Recipe, build
from tests.real.pods import STAY, Life, Truth, container, pod
from tests.real.registry import Registry, Throttle
from tests.real.waiting import until


def test_a_runtime_that_is_missing_is_waited_for_and_said_once(
    agent: Agent, containerd: Containerd, truth: Truth
) -> None:
    socket = agent.directory / "later.sock"
    agent.configure(containerRuntimeEndpoint=f"unix://{socket}", clusterDNS=["192.0.2.53"])
    agent.drop("waits.json", pod("waits"))
    agent.start()
    agent.await_that(lambda: "waiting for the runtime" in agent.said(), "it is not said")
    agent.await_that(lambda: "waits" in agent.pods(), "the pod is not told of")
    # Several polls, one second apart, must pass without another word.
    agent.await_that(lambda: agent.handled("runtime-monitor") >= 4, "it does not look again")
    assert agent.said().count(str(socket)) == 1, "it is said what is missing, once"
    socket.symlink_to(containerd.socket)
    agent.await_running("waits")
    assert agent.said().count("the runtime is ready") == 1
    assert truth.running("waits").attempt == 0
    # What the machine is, is said as well.
    assert {each.event.reason for each in agent.events() if each.event.type == "Warning"} <= {"CgroupV1"}


def test_pods_run_on_while_containerd_is_killed_and_comes_back(
    agent: Agent, containerd: Containerd, truth: Truth
) -> None:
    agent.drop("before.json", pod("before", container(), container("second")))
    agent.start()
    agent.await_running("before")
    keys, told = {life.key for life in truth.lives("before")}, agent.pod("before")
    containerd.kill()
    agent.await_that(lambda: "waiting for the runtime" in agent.said(), "it is not noticed")
    agent.drop("meanwhile.json", pod("meanwhile"))
    agent.await_that(lambda: "meanwhile" in agent.pods(), "the sources stand still")
    assert _ready(agent.pod("before")) == _ready(told) == "True", "what is not known is not told otherwise"
    containerd.start()
    agent.await_running("before", "meanwhile")
    assert {life.key for life in truth.lives("before")} == keys
    assert len(truth.sandboxes("before")) == 1
    assert agent.said().count("waiting for the runtime") == 1


def _ready(pod: Pod) -> str | None:
    assert pod.status is not None
    return next((each.status for each in pod.status.conditions if each.type == "Ready"), None)


# (spec 2.10.2)
def test_a_pod_of_the_runtime_that_nobody_desires_is_ended(agent: Agent, containerd: Containerd, truth: Truth) -> None:
    agent.drop("desired.json", pod("desired"))
    config = raw_pod(truth.cri, containerd, "orphan", kubelet=True)
    raw_pod(truth.cri, containerd, "foreign", kubelet=False)
    agent.start()
    agent.await_running("desired")
    until(lambda: not any(life.running for life in labelled(truth, config)), 20, agent.troubles)
    agent.await_that(lambda: not labelled(truth, config), "its containers stay")
    left = [each.metadata.name for each in truth.sandboxes() if each.metadata is not None]
    assert [name for name in left if name.startswith("foreign")] == ["foreign"], "no business of ours"
    assert "orphan" not in agent.pods()
    assert truth.running("desired").attempt == 0


def labelled(truth: Truth, config: PodSandboxConfig) -> tuple[Life, ...]:
    """The containers of a raw pod."""
    assert config.metadata is not None
    return truth.lives(uid=config.metadata.uid)


def raw_pod(cri: GrpcCri, containerd: Containerd, name: str, kubelet: bool) -> PodSandboxConfig:
    """A pod with one container, made without any agent, with the labels of a kubelet or without."""
    labels = {POD_NAME: name, POD_NAMESPACE: "default", POD_UID: f"uid-{name}"} if kubelet else {}
    config = PodSandboxConfig(
        metadata=PodSandboxMetadata(name=name, uid=f"uid-{name}", namespace="default"),
        hostname=name,
        log_directory=str(containerd.pod_logs / name),
        labels=labels,
        linux=LinuxPodSandboxConfig(cgroup_parent=f"{containerd.cgroup_parent}/{name}"),
    )
    sandbox = cri.call(RUN_POD_SANDBOX, RunPodSandboxRequest(config=config)).result(60).pod_sandbox_id
    main = ContainerConfig(
        metadata=ContainerMetadata(name="main"),
        image=ImageSpec(image=BUSYBOX),
        command=("sh", "-c", STAY),
        log_path="main.log",
        labels={**labels, CONTAINER_NAME: "main"} if kubelet else {},
    )
    request = CreateContainerRequest(pod_sandbox_id=sandbox, config=main, sandbox_config=config)
    made = cri.call(CREATE_CONTAINER, request).result(60).container_id
    cri.call(START_CONTAINER, StartContainerRequest(container_id=made)).result(60)
    return config


def test_two_pods_of_one_image_share_its_pull_and_others_do_not_wait_for_it(
    agent: Agent, containerd: Containerd, registry: Registry, truth: Truth
) -> None:
    recipe = Recipe("slow.test/slow:1", payload_bytes=4 << 20)
    registry.push(build(recipe), "slow", "1")
    slow = Throttle(registry.address, bytes_per_second=1 << 20)
    try:
        containerd.mirror("slow.test", slow.address)
        for name in ("first", "second"):
            agent.drop(f"{name}.json", pod(name, container(image=recipe.name)))
        agent.start()
        agent.await_that(lambda: _waiting(agent, "first") and _waiting(agent, "second"), "they do not wait")
        agent.drop("quick.json", pod("quick"))
        agent.await_running("quick")
        assert agent.status("first").phase == "Pending", "the pull has not held up the other"
        slow.bytes_per_second = 1 << 30
        agent.await_running("first", "second")
    finally:
        slow.close()
    pulled = [each for each in agent.events() if each.event.reason == "Pulled" and recipe.name in each.event.message]
    assert sum("Successfully pulled" in each.event.message for each in pulled) >= 1
    starts = [truth.running(name).status.started_at for name in ("first", "second")]
    assert abs(starts[0] - starts[1]) < 2_000_000_000


def _waiting(agent: Agent, name: str) -> bool:
    status = agent.container(name)
    waiting = status.state.waiting if status is not None and status.state is not None else None
    return waiting is not None and waiting.reason == "ContainerCreating"


def test_an_image_that_is_not_there_is_said_and_tried_again(agent: Agent, registry: Registry) -> None:
    agent.drop("absent.json", pod("absent", container(image="registry.test/absent:1")))
    agent.drop("never.json", pod("never", container(image="registry.test/never:1", imagePullPolicy="Never")))
    agent.start()

    def reasons(name: str) -> set[str | None]:
        status = agent.container(name)
        waiting = status.state.waiting if status is not None and status.state is not None else None
        return {waiting.reason if waiting is not None else None}

    agent.await_that(lambda: reasons("absent") <= {"ErrImagePull", "ImagePullBackOff"}, "it is not said")
    agent.await_that(lambda: reasons("never") == {"ErrImageNeverPull"}, "it is not said")
    registry.push(build(Recipe("registry.test/absent:1")), "absent", "1")
    agent.await_running("absent", limit_s=25)


def test_a_wrong_flag_or_field_stops_the_start_with_one_line_per_fault(agent: Agent) -> None:
    wrong = agent.ran("--no-such-flag", "--max-pods=many")
    lines = wrong.stderr.splitlines()
    assert wrong.returncode == 1
    assert len(lines) == 2, wrong.stderr
    assert any("--no-such-flag" in line for line in lines)
    assert any("--max-pods" in line and "many" in line for line in lines)
    document = json.loads(agent.config.read_text())
    document |= {"maxPods": "lots", "noSuchField": 1, "imageGCHighThresholdPercent": 120}
    agent.config.write_text(json.dumps(document))
    wrong = agent.ran()
    lines = wrong.stderr.splitlines()
    assert wrong.returncode == 1
    assert len(lines) == 3, wrong.stderr
    for field in ("maxPods", "noSuchField", "imageGCHighThresholdPercent"):
        assert sum(f"$.{field}" in line for line in lines) == 1, wrong.stderr
    assert not Path(agent.root / "actorlet.sock").exists()
    missing = agent.ran("--config", str(agent.directory / "missing.yaml"))
    assert missing.returncode == 1
    assert "missing.yaml" in missing.stderr
    assert len(missing.stderr.splitlines()) == 1


def test_flags_alone_configure_it_as_they_do_a_kubelet(agent: Agent, truth: Truth) -> None:
    agent.drop("flagged.json", pod("flagged"))
    command = [
        *agent.command()[:4],
        f"--root-dir={agent.root}",
        f"--pod-manifest-path={agent.manifests}",
        f"--pod-logs-dir={agent.pod_logs}",
        f"--container-runtime-endpoint={agent.endpoint}",
        f"--hostname-override={NODE}",
        f"--cgroup-root={agent.cgroup_root}",
        "--fail-cgroupv1=false",
        "--fail-swap-on=false",
        "--node-ip=192.0.2.7",
        "--make-iptables-util-chains=false",
        f"--port={free_port()}",
        f"--read-only-port={free_port()}",  # on by default where there is no file
        f"--healthz-port={free_port()}",
        "--v=2",
    ]
    agent.start(command=command)
    agent.await_running("flagged")
    assert agent.status("flagged").host_ip == "192.0.2.7"
    assert truth.running("flagged").status.log_path.startswith(str(agent.pod_logs))
    told = agent.told("pods", "--output", "json")
    assert [each["metadata"]["name"] for each in json.loads(told)["items"]] == [f"flagged-{NODE}"]
    assert "Running" in agent.told("pods")
    assert "sync-loop" in agent.told("actors")
