"""A cluster for kubectl: the embedded API server over HTTPS, and one node.

The node has joined it and uses the simulated runtime.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from actors.kernel import PoolDispatcher
from cli.simulated.embedded_api import ApiServerOptions, EmbeddedApi, embedded_api
from config.kubelet import KubeletConfiguration
from runtime.api import ApiLines
from simulation.apiserver.front.in_process import InProcessApi
from simulation.cri import Settings
from simulation.node.simulated_node import SimulatedNode

PATIENCE_S = 300
OLDEST = "1.31"
"""The first kubectl that can wait for what is to be created."""
NODE = "demo"
IMAGES = ("nginx:1.27", "busybox:1.36")
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "nginx:1.27"}
"""


class Ran:
    """What a command has said. `lines` are those of standard output."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def row(self, name: str) -> dict[str, str]:
        """Column -> cell of the row with that name in its first column.

        Columns are as wide as their headings say.
        """
        head, *rows = self.lines
        starts = [at for at in range(len(head)) if head[at] != " " and (at == 0 or head[at - 2 : at] == "  ")]
        spans = list(zip(starts, [*starts[1:], None], strict=True))
        for row in rows:
            if row.split()[0] == name:
                return {head[start:end].strip(): row[start:end].strip() for start, end in spans}
        raise AssertionError(f"there is no row {name} in\n{self.out}")

    def json(self) -> Any:
        return json.loads(self.out)


class Kubectl:
    """kubectl on one cluster; every command in `namespace` unless it names another."""

    def __init__(self, api: EmbeddedApi, home: Path, namespace: str) -> None:
        self.api = api
        self.home = home
        self.namespace = namespace
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "KUBECONFIG": api.kubeconfig,
        }

    def command(self, *arguments: str) -> list[str]:
        return ["kubectl", "--namespace", self.namespace, *arguments]

    def attempt(self, *arguments: str, stdin: str = "", **environment: str) -> Ran:
        """Run it, whatever comes of it."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env={**self.environment, **environment},
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Ran:
        """Run it; it must succeed without a word of warning."""
        ran = self.attempt(*arguments, stdin=stdin, **environment)
        assert ran.code == 0, f"kubectl {' '.join(arguments)}\n{ran.out}{ran.err}"
        assert ran.err == "", ran.err
        return ran

    def refused(self, *arguments: str, stdin: str = "") -> str:
        """Run it; it must fail. Returns what it says."""
        ran = self.attempt(*arguments, stdin=stdin)
        assert ran.code != 0, ran.out
        return ran.err.strip()

    def apply(self, document: str, *arguments: str) -> Ran:
        return self("apply", "-f", "-", *arguments, stdin=document)

    @contextmanager
    def following(self, *arguments: str) -> Iterator[Iterator[str]]:
        """Lines of a command that goes on, as they come, with its log; it is ended with the context."""
        limit = f"--request-timeout={PATIENCE_S}s"
        process = subprocess.Popen(
            self.command(*arguments, limit),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
        )
        assert process.stdout is not None
        try:
            yield iter(process.stdout)
        finally:
            process.kill()
            process.communicate()

    def running(self, name: str = "web", document: str = POD) -> None:
        """A pod of that document, until it is ready."""
        self.apply(document)
        self("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=120s")


class World:
    """A server, one node, and the namespaces that tests make for themselves."""

    def __init__(self, api: EmbeddedApi, directory: Path) -> None:
        self.api = api
        self._directory = directory
        self._made = 0

    def kubectl(self) -> Kubectl:
        """kubectl with a namespace and a home of its own."""
        self._made += 1
        home = self._directory / f"home-{self._made}"
        home.mkdir()
        namespace = f"test-{self._made}"
        found = Kubectl(self.api, home, namespace)
        found("create", "namespace", namespace)
        return found


@contextmanager
def world(directory: Path) -> Iterator[World]:
    with ExitStack() as after:
        options = ApiServerOptions(str(directory / "keys"), str(directory / "kubeconfig"))
        api = after.enter_context(embedded_api(options))
        dispatcher = PoolDispatcher()
        after.callback(dispatcher.close)
        line = InProcessApi(dispatcher, api.server)
        lines = ApiLines(line, line, line)
        # Nobody is to wait ten seconds for what a node finds out about itself.
        configuration = KubeletConfiguration(node_status_update_frequency=10**9, cluster_dns=("10.0.0.10",))
        settings = Settings(images=IMAGES)
        node = SimulatedNode(dispatcher, name=NODE, api=lines, settings=settings, configuration=configuration)
        node.start()
        after.callback(node.stop)
        found = World(api, directory)
        first = found.kubectl()
        first("wait", f"node/{NODE}", "--for=create", "--timeout=120s")
        first("wait", f"node/{NODE}", "--for=condition=Ready", "--timeout=120s")
        yield found


def missing() -> str | None:
    """Why the tests cannot run here, with what to do."""
    remedy = f"run `tox -e kubectl`, which brings one, or install {OLDEST} or newer"
    if shutil.which("kubectl") is None:
        return f"kubectl is missing here; {remedy}"
    shown = subprocess.run(["kubectl", "version", "--client", "-o", "json"], capture_output=True, check=False)
    version = json.loads(shown.stdout or "{}").get("clientVersion", {}).get("gitVersion", "of no version")
    found = tuple(int(part) for part in re.findall("[0-9]+", version)[:2])
    oldest = tuple(int(part) for part in OLDEST.split("."))
    return None if found >= oldest else f"the kubectl here is {version}; {remedy}"
