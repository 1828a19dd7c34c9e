"""`actorlet simulate --kubeconfig`: nodes in a process of their own join an API server.

They run pods, and end.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
import pytest
import yaml

import simulation.node.hollow_nodes
from actors.kernel import PoolDispatcher
from cli.simulate import command as simulate
from cli.simulate.hollow_nodes import _LogLines, _parser, _plan, status_line
from cli.simulated.embedded_api import ApiServerOptions, EmbeddedApi, embedded_api
from config.api.resources import LEASES, NODES, PODS
from config.credentials.kubeconfig import kubeconfig_document
from config.documents.codec import from_builtins, unknown_fields
from config.kubelet import KubeletConfiguration
from config.objects import Container, ObjectMeta, Pod, PodSpec, Probe, TCPSocketAction
from runtime.api import Api, create, watch_objects
from runtime.api.access import read_access
from runtime.api.lines import api_lines
from runtime.io.event_loop import LoopThread
from simulation.apiserver.admission.service_account import TOKEN_DIRECTORY
from simulation.apiserver.requests.answers import JsonAnswer
from simulation.apiserver.requests.calls import ApiRequest
from simulation.cluster.applied import apply
from simulation.node.hollow_nodes import HollowNodes, HollowPlan, HollowStatus, address_of, pod_cidr_of

REPOSITORY = Path(__file__).parents[3]
PATIENCE_S = 240
CONFIGURATION = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeLeaseDurationSeconds: 4
nodeStatusUpdateFrequency: 2s
registerWithTaints: [{key: actorlet.dev/hollow, value: "true", effect: NoSchedule}]
"""


class Seen:
    """What the API shows, as it changes. Called on the loop."""

    def __init__(self, api: Api) -> None:
        self.objects: dict[tuple[str, str], Any] = {}
        self.writes: Counter[tuple[str, str]] = Counter()
        self.lapses: list[str] = []
        self._changed = threading.Event()
        for resource in (NODES, PODS, LEASES):
            api.watch(watch_objects(resource, resource_version="0"), self._told, lambda _: None)

    def _told(self, event: Any) -> None:
        value = event.object
        if value is None:
            return
        key = (type(value).__name__, value.metadata.name)
        if event.type == "DELETED":
            self.objects.pop(key, None)
        else:
            if key[0] == "Node" and key in self.objects and self.is_ready(key) and not _ready(value):
                self.lapses.append(key[1])
            self.objects[key] = value
            self.writes[key] += 1
        self._changed.set()

    def is_ready(self, key: tuple[str, str]) -> bool:
        return key in self.objects and _ready(self.objects[key])

    def until(self, holds: Callable[[], bool], what: str) -> None:
        until = monotonic() + PATIENCE_S
        while not holds():
            assert monotonic() < until, f"{what}: {len(self.objects)} objects"
            self._changed.wait(1)
            self._changed.clear()


def _ready(value: Any) -> bool:
    conditions = value.status.conditions if value.status is not None else ()
    return any(each.type == "Ready" and each.status == "True" for each in conditions)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedApi]:
    kubeconfig = str(tmp_path / "kubeconfig")
    with embedded_api(ApiServerOptions(str(tmp_path / "keys"), kubeconfig, tls=False)) as api:
        yield api


@pytest.fixture
def api(server: EmbeddedApi) -> Iterator[Api]:
    with api_of(server) as api:
        yield api


@contextmanager
def api_of(server: EmbeddedApi) -> Iterator[Api]:
    with (
        closing(LoopThread("test")) as loop,
        closing(api_lines(read_access(server.kubeconfig), loop, user_agent="test", qps=None)) as lines,
    ):
        yield lines.main


@contextmanager
def hollow(server: EmbeddedApi, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "actorlet", "simulate", "--kubeconfig", server.kubeconfig, *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, told
    return told


def pod_on(node: str, number: int) -> Pod:
    probe = Probe(tcp_socket=TCPSocketAction(port=80), period_seconds=1)
    return Pod(
        metadata=ObjectMeta(
            name=f"{node}-pod-{number}",
            namespace="default",
            annotations={"simulated.actorlet.dev/run-for": "1s", "simulated.actorlet.dev/exit-code": "3"}
            if number == 0
            else {},
        ),
        spec=PodSpec(
            node_name=node,
            restart_policy="Never",
            automount_service_account_token=False,
            containers=(Container(name="app", image="registry.example/app:1", readiness_probe=probe),),
        ),
    )


def test_twenty_nodes_in_one_process_stay_ready_renew_their_leases_and_run_a_hundred_pods(
    server: EmbeddedApi, api: Api, tmp_path: Path
) -> None:
    configuration = tmp_path / "kubelet.yaml"
    configuration.write_text(CONFIGURATION)
    names = [f"crowd-{number}" for number in range(40, 60)]
    seen = Seen(api)
    words = ("--nodes=20", "--first=40", "--name-prefix=crowd-", f"--config={configuration}")
    with hollow(server, *words) as process:
        seen.until(lambda: all(seen.is_ready(("Node", name)) for name in names), "all are Ready")
        for answer in [api.call(create(PODS, "default", pod_on(name, n))) for name in names for n in range(5)]:
            answer.result(PATIENCE_S)
        alive = [("Pod", f"{name}-pod-{n}") for name in names for n in range(1, 5)]
        seen.until(lambda: all(seen.is_ready(key) for key in alive), "pods that are well are ready")
        failed = [("Pod", f"{name}-pod-0") for name in names]
        seen.until(lambda: all(seen.objects[key].status.phase == "Failed" for key in failed), "and others do as told")
        before = Counter(seen.writes)
        renewed: Callable[[str], int] = lambda name: seen.writes["Lease", name] - before["Lease", name]  # noqa: E731
        seen.until(lambda: all(renewed(name) >= 4 for name in names), "leases are renewed again and again")
        assert seen.lapses == []
        assert psutil.Process(process.pid).num_threads() < 20, "not even one for each node"
        told = ended(process)
    assert "20 of 20 nodes live" in told, told
    state = seen.objects["Pod", "crowd-40-pod-0"].status.container_statuses[0].state
    assert state.terminated.exit_code == 3
    nodes = [seen.objects["Node", name] for name in names]
    assert len({node.status.addresses[0].address for node in nodes}) == 20
    assert len({seen.objects[key].status.pod_ip for key in alive}) == len(alive), "no two pods have one address"
    assert all(node.metadata.labels["actorlet.dev/hollow"] == "true" and node.spec.taints for node in nodes)


def test_nodes_take_their_objects_with_them_where_that_is_asked_for(server: EmbeddedApi, api: Api) -> None:
    seen = Seen(api)
    with hollow(server, "--nodes=2", "--remove-nodes") as process:
        seen.until(lambda: all(seen.is_ready(("Node", name)) for name in ("hollow-0", "hollow-1")), "both are Ready")
        ended(process)
    seen.until(lambda: not [key for key in seen.objects if key[0] == "Node"], "they are gone")


def processes_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return sorted(psutil.Process(process.pid).children(), key=lambda each: each.pid)


def test_nodes_in_several_processes_end_with_the_command(server: EmbeddedApi, api: Api) -> None:
    seen, names = Seen(api), [f"hollow-{number}" for number in range(5)]
    with hollow(server, "--nodes=5", "--processes=2", "--remove-nodes") as process:
        seen.until(lambda: all(seen.is_ready(("Node", name)) for name in names), "all are Ready")
        assert len(processes_of(process)) == 2
        told = ended(process)
    seen.until(lambda: not [key for key in seen.objects if key[0] == "Node"], "they are gone")
    assert "of 5 nodes live" in told, told


def test_a_process_that_is_killed_takes_its_own_nodes_along(server: EmbeddedApi, api: Api, tmp_path: Path) -> None:
    configuration = tmp_path / "kubelet.yaml"
    configuration.write_text(CONFIGURATION)
    seen, names = Seen(api), [f"hollow-{number}" for number in range(4)]
    with hollow(server, "--nodes=4", "--processes=2", f"--config={configuration}") as process:
        seen.until(lambda: all(seen.is_ready(("Node", name)) for name in names), "all are Ready")
        processes_of(process)[0].kill()
        assert process.stderr is not None
        told = next(line for line in process.stderr if "are gone" in line)
        before = Counter(seen.writes)
        seen.until(lambda: all(seen.writes["Lease", name] > before["Lease", name] + 1 for name in names[2:]), "go on")
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=PATIENCE_S)
    why = "the nodes hollow-0 to hollow-1 are gone: its process was ended by SIGKILL"
    assert why in told
    assert why in rest
    assert "2 of 4 nodes live" in rest
    assert process.returncode == 1


def test_processes_end_when_the_command_is_killed(server: EmbeddedApi, api: Api) -> None:
    seen = Seen(api)
    with hollow(server, "--nodes=2", "--processes=2") as process:
        seen.until(lambda: all(seen.is_ready(("Node", f"hollow-{number}")) for number in range(2)), "both are Ready")
        children = processes_of(process)
        process.kill()
        gone, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
    assert (len(gone), alive) == (2, [])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--kubeconfig", "/nowhere"], "--kubeconfig: /nowhere: No such file or directory"),
        (["--kubeconfig", "{kubeconfig}", "--name-prefix", "H_"], "--name-prefix H_: 'H_0' is not a DNS name"),
        (["--kubeconfig", "{kubeconfig}", "--config", "/nowhere"], "/nowhere"),
    ],
)
def test_a_wrong_option_is_told_before_any_node_begins(
    words: list[str], told: str, server: EmbeddedApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate.main([word.format(kubeconfig=server.kubeconfig) for word in words]) == 2
    assert told in capsys.readouterr().err


def test_a_machine_without_room_for_processes_is_told(
    server: EmbeddedApi, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", refuse)
    assert simulate.main(["--kubeconfig", server.kubeconfig, "--nodes=2", "--processes=2"]) == 2
    assert capsys.readouterr().err == (
        "actorlet simulate: --processes 2: no process could be begun: Resource temporarily unavailable; "
        "`--processes 1` needs none\n"
    )


def test_every_node_has_addresses_of_its_own() -> None:
    assert len({address_of(number) for number in range(20_000)}) == 20_000
    assert len({pod_cidr_of(number) for number in range(16_384)}) == 16_384
    assert (address_of(0), pod_cidr_of(1)) == ("198.18.0.1", "10.0.4.0/22")


def test_the_log_tells_of_changes_not_too_often_and_else_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    lines = _LogLines("https://here", lambda: now[0])
    caplog.set_level("INFO", "actorlet.hollow")

    def show(second: int, live: int, doing: str = "") -> int:
        now[0] = second
        lines.show(HollowStatus(5, live, 7, 8, 100 + second, 1, "patch nodes: no answer"), doing)
        return len(caplog.messages)

    assert [show(2, 1), show(6, 2), show(8, 3), show(12, 3), show(40, 3), show(73, 3), show(74, 3, "ending")] == [
        *(0, 1, 1, 2, 2, 3, 4)
    ]
    assert caplog.messages[-1] == (
        "3 of 5 nodes live at https://here, 7 pods, 8 containers run, 174 calls, "
        "1 failed, the last: patch nodes: no answer, ending"
    )
    well = status_line(HollowStatus(1, 1, 0, 0, 9, 0, ""), "x")
    assert well == "1 of 1 nodes live at x, 0 pods, 0 containers run, 9 calls"


# --- deploy/hollow-nodes.yaml -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    documents = yaml.safe_load_all((REPOSITORY / "deploy" / "hollow-nodes.yaml").read_text())
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in documents}


def test_the_manifests_name_each_other(manifests: dict[str, Any]) -> None:
    roles = yaml.safe_load_all((REPOSITORY / "deploy" / "rbac.yaml").read_text())
    of_agents = {f"{each['kind']}/{each['metadata']['name']}" for each in roles}
    spec = manifests["StatefulSet/hollow"]["spec"]
    pod = spec["template"]["spec"]
    account = f"ServiceAccount/{pod['serviceAccountName']}"
    assert {account, f"Service/{spec['serviceName']}", "Namespace/hollow-nodes"} <= manifests.keys()
    assert f"ConfigMap/{pod['volumes'][0]['configMap']['name']}" in manifests
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    for key, each in manifests.items():
        if key.startswith(("ClusterRoleBinding/", "RoleBinding/")):
            assert f"ServiceAccount/{each['subjects'][0]['name']}" == account
            role = f"{each['roleRef']['kind']}/{each['roleRef']['name']}"
            assert role in manifests or role in of_agents
        elif not key.startswith(("ClusterRole/", "Namespace/")):
            assert each["metadata"]["namespace"] == "hollow-nodes"


def test_the_pod_of_the_manifests_is_one_that_this_agent_reads_without_a_complaint(manifests: dict[str, Any]) -> None:
    template = manifests["StatefulSet/hollow"]["spec"]["template"]
    document = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {"name": "hollow-0", **template["metadata"]}}
    assert unknown_fields(from_builtins(document, Pod)) == ()


def test_the_command_and_the_files_of_the_manifests_are_understood(manifests: dict[str, Any], tmp_path: Path) -> None:
    for name, text in manifests["ConfigMap/hollow-nodes"]["data"].items():
        (tmp_path / name).write_text(text)
    [args] = manifests["StatefulSet/hollow"]["spec"]["template"]["spec"]["containers"][0]["args"]
    shell = 'HOSTNAME=hollow-3; NODES=100; actorlet() { printf "%s\\n" "$@"; }; ' + args.replace("exec ", "")
    words = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout.splitlines()
    options = _parser().parse_args([re.sub("^(--.*=)/etc/hollow", rf"\1{tmp_path}", word) for word in words[1:]])
    plan = _plan(options)
    assert (plan.name(plan.numbers()[0]), plan.name(plan.numbers()[-1])) == ("hollow-300", "hollow-399")
    assert plan.configuration.register_with_taints[0].key == "actorlet.dev/hollow"
    assert read_access(options.kubeconfig).cluster.server == "https://kubernetes.default.svc"


def test_the_pod_of_the_manifests_joins_with_the_rights_of_the_manifests(
    manifests: dict[str, Any], tmp_path: Path
) -> None:
    mounted, account, programs = (tmp_path / name for name in ("mounted", "account", "bin"))
    for directory in (mounted, account, programs):
        directory.mkdir()
    actorlet = programs / "actorlet"
    actorlet.write_text(f'#!/bin/sh\nexec {sys.executable} -m actorlet "$@"\n')
    actorlet.chmod(0o755)
    options = ApiServerOptions(str(tmp_path / "keys"), str(tmp_path / "admin"), rbac=True)
    with embedded_api(options) as server, api_of(server) as api:
        for name in ("rbac.yaml", "hollow-nodes.yaml"):
            apply(server.server, str(REPOSITORY / "deploy" / name), "default")
        token = "/api/v1/namespaces/hollow-nodes/serviceaccounts/hollow-nodes/token"
        answer = server.server.handle(ApiRequest("POST", token, body={"spec": {}}))
        assert isinstance(answer, JsonAnswer)
        (account / "token").write_text(answer.value["status"]["token"])
        (account / "ca.crt").write_bytes(Path(server.authority).read_bytes())
        for name, text in manifests["ConfigMap/hollow-nodes"]["data"].items():
            own = text.replace("https://kubernetes.default.svc", server.url).replace(TOKEN_DIRECTORY, str(account))
            (mounted / name).write_text(own)
        [args] = manifests["StatefulSet/hollow"]["spec"]["template"]["spec"]["containers"][0]["args"]
        seen, names = Seen(api), ("hollow-6", "hollow-7", "hollow-8")
        environment = {"HOSTNAME": "hollow-2", "NODES": "3", "PATH": f"{programs}:{os.environ['PATH']}"}
        with subprocess.Popen(
            ["sh", "-c", args.replace("/etc/hollow", str(mounted))],
            env={**os.environ, **environment},
            stderr=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        ) as process:
            try:
                seen.until(lambda: all(seen.is_ready(("Node", name)) for name in names), "all are Ready")
                api.call(create(PODS, "default", pod_on(names[0], 1))).result(PATIENCE_S)
                seen.until(lambda: seen.is_ready(("Pod", f"{names[0]}-pod-1")), "a pod runs there")
                ended(process)
            finally:
                process.kill()
        seen.until(lambda: not [key for key in seen.objects if key[0] == "Node"], "they are gone")


def test_a_server_that_answers_nobody_is_waited_for_once_and_not_for_each_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    nodes_at_all, wait_s = 100, 2.0
    monkeypatch.setattr(simulation.node.hollow_nodes, "REMOVAL_SECONDS", wait_s)
    with socket.create_server(("127.0.0.1", 0)) as silent, closing(LoopThread("hollow")) as loop:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_bytes(kubeconfig_document(f"http://127.0.0.1:{silent.getsockname()[1]}", name="silent"))
        dispatcher = PoolDispatcher(1)
        plan = HollowPlan(nodes_at_all, KubeletConfiguration())
        nodes = HollowNodes(plan, dispatcher, loop, read_access(str(kubeconfig)), "test")
        nodes.mark_registered(nodes.nodes)
        began = monotonic()
        troubles = nodes.stop(remove=True)
        took_s = monotonic() - began
        dispatcher.close()
    assert len(troubles) == nodes_at_all
    assert troubles[0] == "the Node object hollow-0 is left behind: no answer"
    assert took_s < nodes_at_all * wait_s / 2
