"""Kinds that are stored by their published schema, and their pod templates.

The spec of a template is defaulted and checked like that of a pod. A selector must fit the labels of the template.
"""

from __future__ import annotations

from config.documents.codec import DocumentError
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.schemas.kind_schema import KindSchema
from simulation.apiserver.status import Json
from simulation.apiserver.strategies.described import DescribedStrategy
from simulation.apiserver.strategies.pod_specs import work_out
from simulation.apiserver.strategies.strategy import faults_as_invalid, undecodable


class PublishedStrategy(DescribedStrategy):
    def __init__(self, core: Core, resource: ServedResource) -> None:
        super().__init__(core, resource.api_version)
        assert resource.described is not None
        self._described: KindSchema = resource.described

    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().default(call, before, value)
        template = self._template(value)
        if template is None:
            return
        spec, claimed = template["spec"], _claimed(value, template["spec"])
        try:
            complete = dict(work_out(_with_claimed(spec, claimed)).spec)
        except DocumentError:
            return  # `validate` says so.
        if claimed:
            left = [one for one in complete.pop("volumes") if one not in claimed]
            complete |= {"volumes": left} if left else {}
        if "enableServiceLinks" not in spec:
            del complete["enableServiceLinks"]  # A default of pods that templates do not have.
        value.update(_with(value, self._described.template, {**template, "spec": complete}))

    def validate(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().validate(call, before, value)
        template = self._template(value)
        if template is not None and not call.target.subresource:
            self._check_template(call, value, template)

    def _check_template(self, call: ResourceCall, value: Json, template: Json) -> None:
        """Raises StatusError (400, 422)."""
        path, spec = self._described.template, template["spec"]
        where, name = ".".join(path), value["metadata"]["name"]
        try:
            worked = work_out(_with_claimed(spec, _claimed(value, spec)))
        except DocumentError as error:
            raise undecodable(call.resource, error, f"{where}.") from None
        if worked.faults:
            faults = [DocumentError(f"$.{where}{one.path[1:]}", one.reason, one.hint) for one in worked.faults]
            raise faults_as_invalid(call.resource, name, faults)

    def _template(self, value: Json) -> Json | None:
        """The pod template of an object, if it has a spec."""
        template = _at(value, self._described.template)
        return template if template is not None and isinstance(template.get("spec"), dict) else None


def _with_claimed(spec: Json, claimed: list[Json]) -> Json:
    return {**spec, "volumes": [*(spec.get("volumes") or ()), *claimed]} if claimed else spec


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
