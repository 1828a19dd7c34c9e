"""The gates and steps of a pass, in order. A pass ends at the first that does not return CONTINUE.

Gates come first: may the pod go on? Then `decide` computes what to do, and each step after it does its share. A step
only returns an outcome; `actors.pod.sync` acts on it. A new concern is one more line here and a file of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from actors.pod.outcome import Outcome
from actors.pod.pod_pass import PodPass
from actors.pod.steps.admitted import admitted
from actors.pod.steps.containers import containers
from actors.pod.steps.deadline import deadline
from actors.pod.steps.decide import decide
from actors.pod.steps.end_what_must_end import end_what_must_end
from actors.pod.steps.fields_honoured import fields_honoured
from actors.pod.steps.images_leased import images_leased
from actors.pod.steps.look import look
from actors.pod.steps.network_ready import network_ready
from actors.pod.steps.runtime_answers import runtime_answers
from actors.pod.steps.sandbox import sandbox
from actors.pod.steps.volumes_ready import volumes_ready

Step: TypeAlias = Callable[[PodPass], Awaitable[Outcome]]

STEPS: tuple[Step, ...] = (
    fields_honoured,
    deadline,
    look,
    runtime_answers,
    network_ready,
    admitted,
    volumes_ready,
    decide,
    end_what_must_end,
    sandbox,
    images_leased,
    containers,
)
