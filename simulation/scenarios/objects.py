"""Checks the pods of a scenario with an API server before anything is played.

A pod that it would refuse ends a play.

A server of its own is asked, which keeps nothing. Fields that no pod has are refused, too: nothing would come of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from actors.kernel import SimulatedDispatcher
from simulation.apiserver.requests.answers import JsonAnswer
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.scenarios.pods import PodMix, body_of, metadata_of

_PODS = "/api/v1/namespaces/default/pods"
_ASKED = (("dryRun", "All"), ("fieldValidation", "Strict"))


def refused_pods(mix: PodMix, path: str) -> Iterator[str]:
    """Why no pod of that mix would be taken."""
    body = {**body_of(mix), "metadata": metadata_of(mix, f"{mix.name}-0")}
    answer = ApiServer(SimulatedDispatcher(0)).handle(ApiRequest("POST", _PODS, _ASKED, msgspec.json.encode(body)))
    if isinstance(answer, JsonAnswer) and answer.code >= 300:
        yield f"{path}: the API server refuses its pods: {answer.value.get('message')}"
