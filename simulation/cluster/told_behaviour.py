"""How a test tells pods to behave: patterns of names, and knobs of the simulated runtime.

They come on top of the pods' own annotations.

The orders reach the runtime as annotations of the sandbox, added between agent and runtime. Objects in the API stay
unchanged. A pod's own annotations win.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from msgspec.structs import replace

from runtime.cri.messages import PodSandboxConfig, PodSandboxMetadata
from runtime.cri.verbs import PULL_IMAGE, RUN_POD_SANDBOX
from simulation.cri.behaviour import PREFIX, PodBehaviour, parse_behaviour
from simulation.cri.simulated_cri import DoVerb


@dataclass(frozen=True, slots=True)
class BehaviourRule:
    """`namespace` and `name`: patterns as in a shell."""

    namespace: str
    name: str
    annotations: Mapping[str, str]


class ToldBehaviour:
    """The behaviour of pods that a test has ordered, in the order of its orders."""

    def __init__(self) -> None:
        self._said: list[BehaviourRule] = []
        self._met: set[int] = set()
        """Which of them, by number, has met a pod."""
        self._own: dict[str, dict[str, str]] = {}
        """By uid, of the few pods that say something themselves: what they say."""

    def say(self, said: BehaviourRule) -> None:
        self._said.append(said)

    def forget(self) -> None:
        """Forget all orders."""
        self._said.clear()
        self._met.clear()

    def unmet(self, pods: Iterable[tuple[str, str]]) -> list[BehaviourRule]:
        """The rules whose pattern no pod has ever matched. `pods`: namespace and name of those that are there."""
        for namespace, name in pods:
            self._said_of(PodSandboxMetadata(name=name, namespace=namespace))
        return [said for number, said in enumerate(self._said) if number not in self._met]

    def behaviour_of(self, config: PodSandboxConfig) -> PodBehaviour:
        """The current behaviour of an existing sandbox; its config has the orders from its creation.

        Raises BehaviourError for invalid annotations of the pod.
        """
        metadata = config.metadata
        if metadata is None:
            return parse_behaviour(config.annotations)
        return parse_behaviour(self._said_of(metadata) | self._own.get(metadata.uid, {}))

    def add(self, verb: str, request: Any, do: DoVerb) -> Any:
        """Do the verb for a request to which all is added that is said of its pod.

        See `SimulatedCri.intercept`.
        """
        if verb == RUN_POD_SANDBOX.name and request.config is not None:
            request = replace(request, config=self.added_to(request.config))
        elif verb == PULL_IMAGE.name and request.sandbox_config is not None:
            request = replace(request, sandbox_config=self.added_to(request.sandbox_config))
        return do(verb, request)

    def added_to(self, config: PodSandboxConfig) -> PodSandboxConfig:
        """The config of a new sandbox, with all its orders."""
        metadata = config.metadata
        if metadata is None:
            return config
        own = {key: text for key, text in config.annotations.items() if key.startswith(PREFIX)}
        if own:
            self._own[metadata.uid] = own
        said = self._said_of(metadata)
        return replace(config, annotations=said | dict(config.annotations)) if said else config

    def _said_of(self, metadata: PodSandboxMetadata) -> dict[str, str]:
        found: dict[str, str] = {}
        for number, said in enumerate(self._said):
            if fnmatchcase(metadata.name, said.name) and fnmatchcase(metadata.namespace, said.namespace):
                self._met.add(number)
                found |= said.annotations
        return found
