"""The steps of a pass of `EvictionActor`, what it tells itself on the way, and what it works with."""

from __future__ import annotations

from enum import Enum

import msgspec

from actors.kernel import ActorRef, Message
from runtime.logs.pod_files import PodFiles
from runtime.metrics.meters import UNMEASURED, Meters


class Step(Enum):
    """See the module."""

    IDLE = "nothing until the next pass"
    LOOKING = "what is used is being read"
    ASKING = "the pods are being asked for"
    FREEING = "dead containers and images are being removed"
    SAVING = "who goes is being written down"
    ENDING = "the victim is ending"


class BeginPass(Message, frozen=True):
    """To itself: time to look."""


class PollEnd(Message, frozen=True):
    """To itself: has the victim ended?"""


class StepIsLate(Message, frozen=True):
    """To itself: the step has not been answered."""

    step: Step


class MemoryRead(Message, frozen=True):
    """To itself: what an earlier agent has left in the file."""

    text: str


class MemorySaved(Message, frozen=True):
    """To itself: the file is written, or why not. `decides`: with a decision in it that is waited for."""

    error: str = ""
    decides: bool = False


class EvictionTools(msgspec.Struct, frozen=True):
    """Whom it asks, and whom it tells. `images` None: nobody can remove images."""

    stats: ActorRef
    sync_loop: ActorRef
    events: ActorRef
    listeners: tuple[ActorRef, ...]
    containers: ActorRef
    images: ActorRef | None
    files: PodFiles
    meters: Meters = UNMEASURED
