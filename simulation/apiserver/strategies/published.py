"""Kinds that are stored by their published schema, and their pod templates.

The spec of a template has fewer defaults than that of a pod.
"""

from __future__ import annotations

from config.documents.codec import DocumentError
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.schemas.go_types import GoTypeError
from simulation.apiserver.schemas.kind_schema import KindSchema
from simulation.apiserver.status import Json
from simulation.apiserver.strategies.described import DescribedStrategy
from simulation.apiserver.strategies.pod_specs import work_out_template


class PublishedStrategy(DescribedStrategy):
    """A pod template that is left out is an empty one, unless `template_may_lack`; the rules refuse both."""

    template_may_lack = False

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
            complete = dict(work_out_template(_with_claimed(spec, claimed)).spec)
        except (DocumentError, GoTypeError):
            return  # The rules say so.
        if claimed:
            left = [one for one in complete.pop("volumes") if one not in claimed]
            complete |= {"volumes": left} if left else {}
        value.update(_with(value, self._described.template, {**template, "spec": complete}))

    def _template(self, value: Json) -> Json | None:
        """The pod template of an object, with a spec; None for none."""
        *above, last = self._described.template or ("",)
        holder = _at(value, tuple(above)) if last else None
        template = None if holder is None else holder.get(last)
        if template is None and holder is not None and not self.template_may_lack:
            template = {}
        if not isinstance(template, dict):
            return None
        spec = template.get("spec")
        return {**template, "spec": {} if spec is None else spec} if spec is None or isinstance(spec, dict) else None


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
    return value


def _with(value: Json, path: tuple[str, ...], part: Json) -> Json:
    """A copy with that at the end of the path."""
    first, *rest = path
    return {**value, first: _with(value[first], tuple(rest), part) if rest else part}
