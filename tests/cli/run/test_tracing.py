"""The agent with `tracing`: what collector and runtime get of a pod, and what it costs when off.

The agent is a process of its own; the simulated runtime, the API server and the collector are in the test's.
"""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from actors.kernel import PoolDispatcher
from cli.simulated.embedded_api import ApiServerOptions, embedded_api
from runtime.cri.server import CriServer
from runtime.traces.spans import TraceContext
from simulation.cri import SimulatedCri
from tests.cli.run.test_command import MANIFEST, PATIENCE_S, ROOT, Agent, actorlet, flags
from tests.ports import free_ports
from tests.real.waiting import until
from tests.runtime.http_server.clients import ask
from tests.runtime.traces.collector import Collector, GotSpan
from tests.runtime.traces.trace_parents import TraceParents

SECRET = "hunter2"
CONFIGURATION = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {{anonymous: {{enabled: {anonymous}}}, webhook: {{enabled: false}}}}
authorization: {{mode: AlwaysAllow}}
tracing: {{endpoint: "{endpoint}", samplingRatePerMillion: {rate}}}
"""
ENVIRONMENT = f"env: [{{name: PASSWORD, value: {SECRET}}}]"
HOOK = f"lifecycle: {{preStop: {{exec: {{command: [bye, {SECRET}]}}}}}}"
WITH_SECRET = MANIFEST.replace("image: busybox", f"image: busybox, {ENVIRONMENT}, {HOOK}")
IMAGES, RUNTIME = "runtime.v1.ImageService", "runtime.v1.RuntimeService"


class Node:
    """A directory with one manifest, and a simulated runtime that notes what it is told of traces."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.directory = directory
        self.parents = TraceParents()
        (directory / "manifests").mkdir()
        (directory / "manifests/web.yaml").write_text(WITH_SECRET)
        dispatcher = PoolDispatcher(1)
        stack.callback(dispatcher.close)
        endpoint = f"unix://{directory}/cri.sock"
        stack.enter_context(CriServer(SimulatedCri(dispatcher), endpoint, (self.parents,)))

    def configured(self, endpoint: str, rate: int = 1_000_000, anonymous: str = "false") -> str:
        file = self.directory / "config.yaml"
        file.write_text(CONFIGURATION.format(endpoint=endpoint, rate=rate, anonymous=anonymous))
        return f"--config={file}"

    def asked(self, method: str) -> bool:
        return bool(self.parents.of(f"/{method}"))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with ExitStack() as stack:
        yield Node(tmp_path, stack)


# (spec 11.9.1)
def test_the_start_of_a_pod_is_a_trace_that_runtime_and_api_server_can_go_on_with(node: Node) -> None:
    options = ApiServerOptions(str(node.directory / "apiserver"), str(node.directory / "admin"), nodes=("n",))
    calls = [f"{RUNTIME}/{verb}" for verb in ("RunPodSandbox", "CreateContainer", "StartContainer")]
    pull = f"{IMAGES}/PullImage"
    with Collector() as collector, embedded_api(options) as api:
        agent = Agent(node.directory, node.configured(collector.endpoint), f"--kubeconfig={api.node_kubeconfigs['n']}")
        try:
            collector.wait_for("syncPod", pull, *calls, "HTTP GET", "HTTP POST")
        finally:
            assert agent.end() == 0
    passes = {span.id: span for span in collector.named("syncPod")}
    assert_are_passes_of_the_pod(list(passes.values()))
    for name in (pull, *calls):
        span, *_ = collector.named(name)
        assert span.parent in passes, f"{span} is no part of a pass"
        assert span.trace == passes[span.parent].trace
        assert f"00-{span.trace}-{span.id}-01" in node.parents.of(f"/{name}"), "the runtime goes on with it"
    assert SECRET not in "\n".join(map(repr, collector.spans))


def assert_are_passes_of_the_pod(passes: list[GotSpan]) -> None:
    for span in passes:
        assert span.parent == ""
        assert span.attributes["k8s.pod"] == "default/web-n"
        assert span.attributes["k8s.pod.name"] == "web-n"
        assert span.attributes["k8s.namespace.name"] == "default"
        assert span.resource["host.name"] == "n"
    kinds = [span.attributes["k8s.pod.update_type"] for span in passes]
    assert kinds.count("create") == 1
    assert set(kinds) <= {"create", "update", "sync"}


def test_a_pod_that_ends_is_traced_to_its_end(node: Node) -> None:
    hook, stop = f"{RUNTIME}/ExecSync", f"{RUNTIME}/StopContainer"
    with Collector() as collector:
        agent = Agent(node.directory, node.configured(collector.endpoint))
        try:
            collector.wait_for(f"{RUNTIME}/StartContainer")
            (node.directory / "manifests/web.yaml").unlink()
            collector.wait_for("syncTerminatingPod", "syncTerminatedPod", hook, stop)
        finally:
            assert agent.end() == 0
    endings = {span.id for span in collector.named("syncTerminatingPod")}
    for name in (hook, stop):
        assert any(span.parent in endings for span in collector.named(name)), collector.named(name)
    assert SECRET not in "\n".join(map(repr, collector.spans))


# (spec 11.9.1)
def test_collections_are_traces_with_their_calls(node: Node) -> None:
    images, containers = "Images/GarbageCollect", "Containers/GarbageCollect"
    with Collector() as collector:
        agent = Agent(node.directory, node.configured(collector.endpoint))
        try:
            collector.wait_for(images, containers)
        finally:
            assert agent.end() == 0
    for name, call in ((images, f"{IMAGES}/ListImages"), (containers, f"{RUNTIME}/ListPodSandbox")):
        spans = {span.id for span in collector.named(name)}
        assert all((span.parent, span.attributes) == ("", {}) for span in collector.named(name))
        assert any(span.parent in spans for span in collector.named(call)), collector.named(call)


# (spec 11.9.1)
def test_requests_to_the_node_are_spans_below_their_clients(node: Node) -> None:
    port, read_only = free_ports(2)
    above = TraceContext(11, 12, True)
    with Collector() as collector:
        own = ["--enable-server=true", f"--cert-dir={node.directory}/pki", f"--port={port}", "--address=127.0.0.1"]
        own.append(f"--read-only-port={read_only}")
        agent = Agent(node.directory, node.configured(collector.endpoint, rate=0, anonymous="true"), *own)
        tls = ssl.create_default_context(cafile=f"{node.directory}/pki/kubelet.crt")
        tls.check_hostname = False
        try:
            until(lambda: node.asked(f"{RUNTIME}/StartContainer"), PATIENCE_S, "the pod does not start")
            log = "/containerLogs/default/web-n/main"
            for path in ("/pods", f"{log}?tailLines=77"):
                ask(port, path, tls=tls, traceparent=above.header()[1])
            ask(port, "/pods", tls=tls)
            ask(read_only, "/pods", traceparent=above.header()[1])
        finally:
            assert agent.end() == 0
    listed, logged = (
        collector.named("/pods/")[0],
        collector.named("/containerLogs/{podNamespace}/{podID}/{containerName}")[0],
    )
    for span, path in ((listed, "/pods"), (logged, log)):
        assert (span.trace, span.parent) == (f"{above.trace_id:032x}", f"{above.span_id:016x}")
        assert span.kind == 2, "a server's"
        assert span.attributes["url.path"] == path
        assert span.attributes["server.address"] == "kubelet"
    assert listed.attributes["http.response.status_code"] == 200
    assert any(span.parent == logged.id for span in collector.named(f"{RUNTIME}/ContainerStatus")), collector.spans
    assert len(collector.named("/pods/")) == 1, "neither without a client that asks for it, nor on the public port"
    assert "tailLines" not in "".join(map(repr, collector.spans))


def test_a_collector_that_hangs_delays_neither_pods_nor_the_end_of_the_agent(node: Node) -> None:
    with Collector(hangs=True) as collector:
        agent = Agent(node.directory, node.configured(collector.endpoint))
        try:
            until(lambda: node.asked(f"{RUNTIME}/StartContainer"), PATIENCE_S, "the pod does not start")
            assert collector.asked.wait(PATIENCE_S)
        finally:
            assert agent.end() == 0
        assert not collector.spans


def test_a_rate_of_nothing_sends_nothing_and_the_runtime_is_told_so(node: Node) -> None:
    with Collector() as collector:
        agent = Agent(node.directory, node.configured(collector.endpoint, rate=0))
        try:
            until(lambda: node.asked(f"{RUNTIME}/StartContainer"), PATIENCE_S, "the pod does not start")
        finally:
            assert agent.end() == 0
        assert not collector.spans
    assert all(parent.endswith("-00") for _, parent in node.parents.calls)


def test_without_tracing_the_runtime_is_told_nothing(node: Node) -> None:
    agent = Agent(node.directory)
    try:
        until(lambda: node.asked(f"{RUNTIME}/StartContainer"), PATIENCE_S, "the pod does not start")
    finally:
        assert agent.end() == 0
    assert {parent for _, parent in node.parents.calls} == {""}


def test_without_tracing_nothing_of_opentelemetry_is_imported() -> None:
    code = (
        "import sys, cli.run.command; from cli.run.tracing import open_tracing; "
        "from config.kubelet import default_configuration; assert open_tracing(default_configuration(), 'n') is None; "
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize(
    ("endpoint", "rate", "said"),
    [
        ("https://collector:4317", 1, "$.tracing.endpoint: 'https' is none of the schemes dns, unix, unix-abstract"),
        ("collector:4317", 1_000_001, "$.tracing.samplingRatePerMillion: is 1000001, must be between 0 and 1000000"),
    ],
)
def test_wrong_settings_are_refused_before_anything_starts(node: Node, endpoint: str, rate: int, said: str) -> None:
    command = actorlet("run", *flags(node.directory, node.configured(endpoint, rate)))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 1
    assert said in done.stderr


def test_variables_that_the_sdk_cannot_use_are_told_in_one_line(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "squeeze")
    command = actorlet("run", *flags(node.directory, node.configured("collector:4317")))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("actorlet run: ")]
    assert line.startswith("actorlet run: $.tracing: OpenTelemetry cannot be used: ")
    assert "squeeze" in line
