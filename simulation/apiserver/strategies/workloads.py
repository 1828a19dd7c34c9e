"""Jobs, daemon sets and replication controllers: what follows from their pod templates."""

from __future__ import annotations

from config.pods.job_selectors import select_own_pods
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json
from simulation.apiserver.strategies.published import PublishedStrategy


class JobStrategy(PublishedStrategy):
    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """A Job without labels has those of its template, when it changes, too."""
        super().default(call, before, value)
        if before is not None:
            _take_labels(value)

    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().prepare(call, before, value)
        if before is None:
            select_own_pods(value)
            _take_labels(value)


def _take_labels(value: Json) -> None:
    template = value["spec"].get("template") if isinstance(value.get("spec"), dict) else None
    its = template.get("metadata") if isinstance(template, dict) else None
    labels = its.get("labels") if isinstance(its, dict) else None
    if labels and isinstance(labels, dict) and not value["metadata"].get("labels"):
        value["metadata"]["labels"] = labels


_GENERATION = "deprecated.daemonset.template.generation"


class DaemonSetStrategy(PublishedStrategy):
    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """The annotation is a field upstream, so whoever writes the object owns it."""
        super().default(call, before, value)
        if not call.target.subresource:
            was = {} if before is None else before["metadata"].get("annotations") or {}
            told = {_GENERATION: was.get(_GENERATION, "0")}
            value["metadata"]["annotations"] = {**told, **(value["metadata"].get("annotations") or {})}

    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """An annotation counts the changes of the template, as a kube-apiserver still keeps it."""
        super().prepare(call, before, value)
        if call.target.subresource:
            return
        number = 1
        if before is not None:
            told = (before["metadata"].get("annotations") or {}).get(_GENERATION, "")
            number = int(told) if told.isdecimal() else 1
            number += value["spec"].get("template") != before["spec"].get("template")
        value["metadata"]["annotations"] = {**(value["metadata"].get("annotations") or {}), _GENERATION: str(number)}


class ReplicationControllerStrategy(PublishedStrategy):
    template_may_lack = True

    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """Without a selector or labels of its own, it has the labels of its template."""
        super().default(call, before, value)
        spec, metadata = value.get("spec"), value["metadata"]
        template = spec.get("template") if isinstance(spec, dict) else None
        its = template.get("metadata") if isinstance(template, dict) else None
        labels = its.get("labels") if isinstance(its, dict) else None
        if labels and isinstance(labels, dict) and isinstance(spec, dict):
            value["spec"] = {**spec, "selector": spec.get("selector") or labels}
            metadata["labels"] = metadata.get("labels") or labels
