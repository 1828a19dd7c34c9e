"""The steps of a pass of `EvictionActor`, its messages to itself, and its tools."""

from __future__ import annotations

from enum import Enum

import msgspec

from actors.eviction.decisions import EvictionVictim, Remembered
from actors.kernel import ActorRef, Message
from config.frozen_map import FrozenMap
from runtime.logs.pod_files import PodFiles
from runtime.metrics.meters import UNMEASURED, Meters


class EvictionStep(Enum):
    """See `actors.eviction.manager`."""

    IDLE = "nothing until the next pass"
    LOOKING = "what is used is being read"
    ASKING = "the pods are being asked for"
    FREEING = "dead containers and images are being removed"
    SAVING = "who goes is being written down"
    ENDING = "the victim ends, and its volumes are taken down"


class BeginEvictionPass(Message, frozen=True):
    """To itself: time for a pass."""


class PollEnd(Message, frozen=True):
    """To itself: are the victim and its volumes gone?"""


class StepIsLate(Message, frozen=True):
    """To itself: the step has not been answered."""

    step: EvictionStep


class MemoryRead(Message, frozen=True):
    """To itself: what an earlier agent saved (`Remembered`), or why its file cannot be used."""

    victims: tuple[EvictionVictim, ...]
    conditions: FrozenMap[str, int]
    error: str = ""


def memory_read_of(found: Remembered | None, error: str) -> MemoryRead:
    """The message about the content of `<root>/evictions`, or why that file cannot be used."""
    remembered = found or Remembered()
    return MemoryRead(remembered.victims, FrozenMap(remembered.conditions), error)


class MemorySaved(Message, frozen=True):
    """To itself: the file has been written, or writing it failed (`error`).

    `decides`: the file holds a decision that the pass waits for.
    """

    error: str = ""
    decides: bool = False


class EvictionTools(msgspec.Struct, frozen=True):
    """The actors and capabilities that `EvictionActor` uses. `images` None: images cannot be removed."""

    stats: ActorRef
    sync_loop: ActorRef
    events: ActorRef
    listeners: tuple[ActorRef, ...]
    containers: ActorRef
    images: ActorRef | None
    files: PodFiles
    meters: Meters = UNMEASURED
