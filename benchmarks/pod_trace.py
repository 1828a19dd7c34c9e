"""Follow one pod with one container through the agent, from its manifest to its published status.

    python -m benchmarks.pod_trace [--markdown]

A simulated node reads a manifest, and each file of `actors/` whose functions run is listed in order of its first call.
Followed are the actors on the way of the data: source, storage, sync loop, worker and status manager. What they ask of
other actors (volumes, images, admission, ...) is not followed: their answers are messages. Constructors, the kernel and
the modules of messages are left out. `docs/explanation/pod-start.md` has the list, and a test keeps both the same.
"""

from __future__ import annotations

import ast
import json
import sys
import textwrap
from pathlib import Path
from types import FrameType
from typing import Any

import actors
from actors.kernel import Actor, SimulatedDispatcher
from actors.pod.worker import PodWorker
from actors.sources.static import SourceActor
from actors.sources.storage import StorageActor
from actors.status.manager import StatusManagerActor
from actors.sync.loop import SyncLoopActor
from config.kubelet import KubeletConfiguration
from runtime.cri.messages import ContainerState
from simulation.cri import Settings
from simulation.node.simulated_node import SimulatedNode

SECOND_NS = 1_000_000_000
IMAGE = "docker.io/library/busybox:1.36"
MANIFEST = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "app", "image": IMAGE, "imagePullPolicy": "IfNotPresent"}]},
    }
)
CONFIGURATION = KubeletConfiguration(cluster_dns=("10.96.0.10",), cluster_domain="cluster.local")
FOLLOWED = (SourceActor, StorageActor, SyncLoopActor, PodWorker, StatusManagerActor)
FOLDER = Path(actors.__file__).parent
PLACE = "<!-- files -->\n\n"


def traced_files() -> tuple[str, ...]:
    """Paths below `actors/`, in the order in which their functions were first called."""
    files: dict[str, None] = {}
    others: set[object] = set()
    status: list[str | None] = []

    def on_call(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code is StatusManagerActor.pod_status_changed.__code__:
            status.append(frame.f_locals["message"].status.phase)
        if code.co_name == "__init__":
            return  # a constructor only keeps what it is given
        path = code.co_filename
        if path in others or path in files:
            return
        if not path.startswith(f"{FOLDER}/") or "/kernel/" in path or "messages" in path:
            others.add(path)
        elif isinstance(_actor_of(frame), FOLLOWED):
            files[path] = None

    dispatcher = SimulatedDispatcher(1)
    node = SimulatedNode(dispatcher, settings=Settings(images=(IMAGE,)), configuration=CONFIGURATION)
    node.start()
    dispatcher.run_for(30 * SECOND_NS)
    node.put_manifest("web.json", MANIFEST)
    until_ns = dispatcher.now_ns() + 60 * SECOND_NS
    sys.setprofile(on_call)
    try:
        while "Running" not in status:
            assert dispatcher.step(until_ns), "the pod does not run within a minute"
    finally:
        sys.setprofile(None)
    assert [each.state for each in node.containers()] == [ContainerState.CONTAINER_RUNNING]
    return tuple(str(Path(each).relative_to(FOLDER)) for each in files)


def _actor_of(frame: FrameType | None) -> Actor | None:
    """The actor whose turn it is: its own method, or the kernel that calls a handler of one of its parts.

    None for what the simulated world calls back in the same moment.
    """
    while frame is not None and "/simulation/" not in frame.f_code.co_filename:
        for name in ("self", "actor"):
            found = frame.f_locals.get(name)
            if isinstance(found, Actor):
                return found
        frame = frame.f_back
    return None


def purpose_of(file: str) -> str:
    """The first sentence of its docstring."""
    text = ast.get_docstring(ast.parse((FOLDER / file).read_text())) or ""
    return " ".join(text.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")


def as_markdown(files: tuple[str, ...]) -> str:
    """The numbered list of `docs/explanation/pod-start.md`, in lines of at most 120 characters."""
    items = (f"{number}. `{file}`: {purpose_of(file)}." for number, file in enumerate(files, 1))
    return "\n".join(textwrap.fill(item, 120, subsequent_indent=" " * (item.index(" ") + 1)) for item in items)


def main() -> None:
    files = traced_files()
    if "--markdown" in sys.argv[1:]:
        print(as_markdown(files))
        return
    for number, file in enumerate(files, 1):
        print(f"{number:3} actors/{file:34} {purpose_of(file)}")
    print(f"{len(files)} files")


if __name__ == "__main__":
    main()
