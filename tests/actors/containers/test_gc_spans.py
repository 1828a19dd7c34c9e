"""The spans of collections: each round is one, with its lists and removals below it."""

from __future__ import annotations

from typing import Any

from actors.containers.gc import ContainerGCActor
from actors.containers.gc_rules import GcPolicy, Places
from actors.containers.removal import GcTools
from actors.images.gc import ImageGCActor, ImageTools
from actors.images.leases import ImageLeases
from actors.kernel import ActorRef, broken
from actors.messages.pods import ContainersDied
from actors.messages.reclaim import ReclaimImages
from runtime.cri import CriError, StatusCode
from runtime.traces.spans import TraceContext, current
from tests.actors.containers.dead_containers import World, crashed
from tests.actors.images.test_gc import LIMITS
from tests.actors.images.test_gc import World as ImageWorld
from tests.runtime.traces.kept_spans import KeptSpans


class Heard:
    """A runtime that notes for which span each call works."""

    def __init__(self, runtime: Any) -> None:
        self.runtime = runtime
        self.calls: list[tuple[str, TraceContext | None]] = []

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Any:
        self.calls.append((verb.name, current()))
        return self.runtime.call(verb, request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runtime, name)


def collector_of(world: World, tracer: KeptSpans) -> tuple[ActorRef, Heard]:
    heard = Heard(world.runtime)
    tools = GcTools(heard, world.logs, GcPolicy(), Places(), tracer=tracer)
    world.gc.stop()
    return world.system.spawn(ContainerGCActor, world.worker, tools, name="traced"), heard


def test_a_round_of_dead_containers_is_a_span_with_its_calls() -> None:
    world, tracer = World(), KeptSpans()
    _, heard = collector_of(world, tracer)
    world.runtime.add(*crashed())
    world.tell(seconds=62)
    assert world.left() == {"p2"}
    (span,) = tracer.spans
    assert (span.name, span.ended) == ("Containers/GarbageCollect", "")
    assert {name for name, _ in heard.calls} == {"ListPodSandbox", "ListContainers", "RemoveContainer"}
    assert {trace for _, trace in heard.calls} == {span.context}
    assert world.system.stop()


def test_a_round_whose_list_fails_has_failed_and_the_next_is_another_span() -> None:
    world, tracer = World(), KeptSpans()
    collector_of(world, tracer)
    world.runtime.listing = broken(CriError(StatusCode.UNAVAILABLE, "down", "ListContainers"))
    world.tell(seconds=62)
    world.runtime.listing = None
    world.tell(seconds=60)
    first, second = tracer.spans
    assert first.ended is not None
    assert "down" in first.ended
    assert second.ended == ""
    assert world.system.stop()


def test_removals_after_a_death_belong_to_no_round() -> None:
    world, tracer = World(), KeptSpans()
    actor, heard = collector_of(world, tracer)
    world.runtime.add(*crashed())
    actor.tell(ContainersDied((("p", "c"),)))
    world.tell(seconds=2)
    assert world.left() == {"p2"}
    assert {trace for _, trace in heard.calls} == {None}
    assert not tracer.spans
    assert world.system.stop()


def test_a_round_of_images_is_a_span_with_its_calls() -> None:
    world, tracer = ImageWorld(), KeptSpans()
    heard = Heard(world)
    tools = ImageTools(heard, heard, LIMITS, ImageLeases(), "n", world.asker, world.asker, tracer=tracer)
    world.gc.stop()
    world.gc = world.system.spawn(ImageGCActor, tools, name="traced")
    world.begin()
    heard.calls.clear()
    world.tell(ReclaimImages(world.asker))
    assert world.images() == []
    span = tracer.spans[-1]
    assert (span.name, span.ended) == ("Images/GarbageCollect", "")
    assert {"ListImages", "RemoveImage"} <= {name for name, _ in heard.calls}
    assert {trace for _, trace in heard.calls} == {span.context}
    world.system.stop()
