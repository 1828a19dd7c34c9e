"""A request as the plugins of admission see it, and what a plugin is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from config.pods.identity import CONFIG_MIRROR
from simulation.apiserver.access.authorization import Authorizer
from simulation.apiserver.core import Core
from simulation.apiserver.fields.managers import Managed, shown
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json, StatusError, forbidden

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"
Concern = tuple[ServedResource, str, str]
"""Resource, part or "", operation."""


class Attributes(msgspec.Struct, eq=False):
    """See the module. `old`: the object before, in the shape of the request; None for a creation.

    `new`: the object after; None for a deletion. A plugin may change its top and its metadata while it is admitted.
    """

    core: Core
    authorizer: Authorizer
    call: ResourceCall
    operation: str
    old: Json | None
    new: Json | None
    old_managed: Managed = ()
    """The owners of the fields of `old`."""
    new_managed: Managed = ()
    """Those of `new` so far."""
    is_foreign: bool = False
    """Whether a webhook has changed the object, which must be read again."""

    def whole(self) -> tuple[Json | None, Json | None]:
        """`old` and `new` with their managed fields."""
        return _whole(self.old, self.old_managed), _whole(self.new, self.new_managed)

    @property
    def object(self) -> Json:
        """The object after; before, for a deletion."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found

    @property
    def name(self) -> str:
        """The name of the object; empty as long as it is not generated."""
        name: str = self.object["metadata"].get("name") or ""
        return name

    def forbidden(self, why: str, causes: Sequence[Json] = ()) -> StatusError:
        """The refusal of the request (403). An object without a name yet goes by its generateName."""
        name = self.name or self.object["metadata"].get("generateName") or ""
        return forbidden(self.call.resource, name, why, causes)


def _whole(value: Json | None, managed: Managed) -> Json | None:
    if value is None or not managed:
        return value
    return {**value, "metadata": {**value["metadata"], "managedFields": shown(managed)}}


class Plugin(msgspec.Struct, frozen=True, eq=False):
    """One plugin. `concerns`: what it looks at, or a rule for that; None: every request that changes an
    object.

    `admit` may change the object, `validate` may not. Both raise StatusError.
    """

    name: str
    concerns: Collection[Concern] | Callable[[Concern], bool] | None = None
    admit: Callable[[Attributes], object] | None = None
    validate: Callable[[Attributes], object] | None = None

    def is_concerned(self, concern: Concern) -> bool:
        if self.concerns is None:
            return True
        return self.concerns(concern) if callable(self.concerns) else concern in self.concerns


def is_mirror_pod(pod: Json) -> bool:
    return CONFIG_MIRROR in (pod["metadata"].get("annotations") or ())
