"""`PassTraces`: the spans of a worker's passes, where the node is traced."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from actors.kernel import DeadlineExceededError
from actors.pod.one_pass import Outcome, Refuse
from config.objects import Pod
from runtime.cri import CriError
from runtime.traces.spans import Tracer, within


class PassTraces:
    """Each pass is one span, named as a kubelet names it. The calls that the pass awaits are its children.

    A pull belongs to another actor, so the order to pull carries the context (`PullImage`).
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._type = "create"

    def updated(self) -> None:
        """The desired pod has changed; the next pass is for that."""
        if self._type != "create":
            self._type = "update"

    async def follow(self, name: str, pod: Pod | None, coroutine: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Await the pass inside a span; returns its outcome. `pod` None: only the runtime knows it."""
        attributes = {} if pod is None else _attributes(pod)
        if name == "syncPod":
            attributes["k8s.pod.update_type"], self._type = self._type, "sync"
        span = self._tracer.begin(name, attributes)
        try:
            outcome = await within(span.context, coroutine)
        except (CriError, DeadlineExceededError) as failure:
            span.fail(str(failure))
            raise
        except BaseException as failure:
            span.fail(type(failure).__name__)
            raise
        if isinstance(outcome, Refuse):
            span.fail(outcome.message)
        else:
            span.end()
        return outcome


def _attributes(pod: Pod) -> dict[str, str | int]:
    about = pod.metadata
    return {
        "k8s.pod.uid": about.uid,
        "k8s.pod": f"{about.namespace}/{about.name}",
        "k8s.pod.name": about.name,
        "k8s.namespace.name": about.namespace,
    }
