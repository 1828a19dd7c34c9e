"""The rules of a kind that is stored with its published schema.

They are those of custom resources, and of pod templates.

The spec of a template is defaulted and checked like that of a pod. A selector must fit the labels of the template.
"""

from __future__ import annotations

from config.documents.codec import DocumentError
from config.pods.job_selectors import select_own_pods
from simulation.apiserver.core import Core
from simulation.apiserver.custom.rules import CustomRules
from simulation.apiserver.kinds.pod_specs import work_out
from simulation.apiserver.kinds.rules import KindRules, faults_as_invalid, undecodable
from simulation.apiserver.requests import ResourceCall
from simulation.apiserver.resources import CustomVersion, ServedResource
from simulation.apiserver.status import Json, invalid, invalid_value

_NOT_SELECTED = "`selector` does not match template `labels`"


class PublishedRules(CustomRules):
    def __init__(self, core: Core, resource: ServedResource) -> None:
        super().__init__(core, resource.api_version, lambda: None)
        assert resource.custom is not None
        self._custom: CustomVersion = resource.custom
        self.counts_generations = "spec" in resource.custom.schema["properties"]

    def prepare(self, call: ResourceCall, value: Json) -> None:
        self._forget_empty(value)
        super().prepare(call, value)
        if call.resource.kind == "Job":
            select_own_pods(value)
        self._complete(call, value)

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        KindRules.change(self, call, old, new)
        self._forget_empty(new)
        super().change(call, old, new)
        self._complete(call, new)

    def _forget_empty(self, value: Json) -> None:
        """Treat an empty object in a spec as absent where it has a default.

        `kubectl create` sends such objects.
        """
        spec, known = value.get("spec"), self._custom.schema["properties"].get("spec", {}).get("properties", {})
        if isinstance(spec, dict):
            empty = [name for name, part in spec.items() if part == {} and known.get(name, {}).get("default")]
            value["spec"] = {name: part for name, part in spec.items() if name not in empty}

    def _complete(self, call: ResourceCall, value: Json) -> None:
        """Complete and check the pod template. Raises StatusError (422)."""
        path = self._custom.template
        template = _at(value, path)
        if template is None or not isinstance(template.get("spec"), dict):
            return
        where, name = ".".join(path), value["metadata"]["name"]
        try:
            spec, claimed = template["spec"], _claimed(value, template["spec"])
            worked = work_out({**spec, "volumes": [*(spec.get("volumes") or ()), *claimed]} if claimed else spec)
        except DocumentError as error:
            raise undecodable(call.resource, error, f"{where}.") from None
        if worked.faults:
            faults = [DocumentError(f"$.{where}{one.path[1:]}", one.reason, one.hint) for one in worked.faults]
            raise faults_as_invalid(call.resource, name, faults)
        labels = (template.get("metadata") or {}).get("labels") or {}
        selector = _at(value, (*path[:-1], "selector")) or {}
        wanted = selector.get("matchLabels")
        if isinstance(wanted, dict) and any(labels.get(key) != label for key, label in wanted.items()):
            cause = invalid_value(f"{where}.metadata.labels", labels, _NOT_SELECTED)
            raise invalid(call.resource, name, [cause])
        complete = dict(worked.spec)
        if claimed:
            complete["volumes"] = [one for one in complete["volumes"] if one not in claimed]
        value.update(_with(value, path, {**template, "spec": complete}))


def _claimed(value: Json, spec: Json) -> list[Json]:
    """Claims of a StatefulSet as volumes; its pods get them in place of volumes of the same name."""
    templates = value["spec"].get("volumeClaimTemplates") or () if isinstance(value.get("spec"), dict) else ()
    names = {(one.get("metadata") or {}).get("name") for one in templates}
    names -= {one["name"] for one in spec.get("volumes") or ()}
    return [{"name": name, "emptyDir": {}} for name in sorted(filter(None, names))]


def _at(value: Json, path: tuple[str, ...]) -> Json | None:
    for name in path:
        found = value.get(name)
        if not isinstance(found, dict):
            return None
        value = found
    return value if path else None


def _with(value: Json, path: tuple[str, ...], part: Json) -> Json:
    """A copy with that at the end of the path."""
    first, *rest = path
    return {**value, first: _with(value[first], tuple(rest), part) if rest else part}
