"""An actor that watches a file of the kernel, and fails.

Its next life watches anew, and nothing is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from actors.eviction.memory_notifier import MemoryNotifierActor, RenewMarks
from actors.kernel import Actor, ActorRef, ActorSystem, Message, SimulatedDispatcher
from actors.pleg.oom_watcher import ListenAgain, OomWatcherActor
from actors.sources.static import FileSourceActor, SourceTouched
from actors.volumes.plugins.visits import LookForPlugins
from actors.volumes.plugins.watcher import PluginWatcherActor
from runtime.io.event_loop import LoopThread
from runtime.manifests.local import LocalManifests
from runtime.memory_notices import MemoryMark
from runtime.memory_notices.local import LocalMemoryNotices
from runtime.oom.kernel_log import KernelOomLog
from runtime.plugin_registration.local import LocalPluginSockets
from simulation.host.plugins import SimulatedPlugins
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS


class Kept:
    """A capability that counts its open watches."""

    def __init__(self, capability: Any, watch: str = "watch") -> None:
        self._capability = capability
        self._name = watch
        self.open: list[Any] = []
        self.made = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._capability, name)
        return self._counted(found) if name == self._name else found

    def _counted(self, begin: Callable[..., Any]) -> Callable[..., Any]:
        def watch(*args: Any) -> Any:
            made = begin(*args)
            close = made.close

            def closed() -> None:
                if made in self.open:
                    self.open.remove(made)
                close()

            made.close = closed
            self.open.append(made)
            self.made += 1
            return made

        return watch


def of_files(kept: Kept, nobody: ActorRef, place: Path) -> tuple[Any, ...]:
    return FileSourceActor, nobody, kept, str(place), MINUTE_NS, lambda *_: None


def of_plugins(kept: Kept, nobody: ActorRef, _: Path) -> tuple[Any, ...]:
    return PluginWatcherActor, kept, SimulatedPlugins(), nobody


def of_memory(kept: Kept, nobody: ActorRef, _: Path) -> tuple[Any, ...]:
    return MemoryNotifierActor, kept, (MemoryMark(False, 1),), nobody


def of_kills(kept: Kept, nobody: ActorRef, _: Path) -> tuple[Any, ...]:
    return OomWatcherActor, kept, nobody, "node"


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    with closing(LoopThread("test")) as made:
        yield made


@pytest.mark.parametrize("fails_at", ["its start", "a message"])
@pytest.mark.parametrize(
    ("make", "watch", "given", "touched"),
    [
        (lambda _, __: LocalManifests(), "watch", of_files, SourceTouched()),
        (lambda _, place: LocalPluginSockets(str(place)), "watch", of_plugins, LookForPlugins()),
        (lambda loop, place: LocalMemoryNotices(loop, str(place)), "watch", of_memory, RenewMarks()),
        (lambda loop, _: KernelOomLog(loop, "/dev/null"), "follow", of_kills, ListenAgain()),
    ],
    ids=["manifests", "plugins", "memory", "kills"],
)
def test_a_watcher_that_fails_leaves_no_watch_behind(
    loop: LoopThread,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[..., Any],
    watch: str,
    given: Callable[..., Any],
    touched: Message,
    fails_at: str,
) -> None:
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    nobody, _ = Recorder.spawn_in(system, "nobody")
    kept = Kept(make(loop, tmp_path), watch)
    kind, *arguments = given(kept, nobody, tmp_path)
    failing = failing_at_its_start(kind) if fails_at == "its start" else failing_at(kind, type(touched))
    watcher = system.spawn(failing, *arguments, name="watcher")
    for _ in range(10):
        watcher.tell(touched)
        dispatcher.run_for(MINUTE_NS)
    assert kept.made > 3, "it has failed, and begun anew"
    assert len(kept.open) <= 1
    assert system.stop()
    assert kept.open == []


def failing_at_its_start(kind: type[Actor]) -> type[Actor]:
    def on_start(self: Any) -> None:
        kind.on_start(self)
        raise RuntimeError("as the test wants it")

    return type(f"Failing{kind.__name__}", (kind,), {"on_start": on_start})


def failing_at(kind: type[Actor], message: type[Message]) -> type[Actor]:
    def fails(*_: Any) -> None:
        raise RuntimeError("as the test wants it")

    made: type[Actor] = type(f"Failing{kind.__name__}", (kind,), {})
    made.message_handlers = {**kind.message_handlers, message: fails}
    return made
