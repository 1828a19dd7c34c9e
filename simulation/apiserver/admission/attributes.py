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


_OF_SERVER = ("namespace", "uid", "resourceVersion", "creationTimestamp", "generation")


class Reinvocation(msgspec.Struct):
    """Which parts of a plugin, as its policies, have a second turn.

    `may_run`: those that want one, and have run since the object changed; `runs`: those that have one.
    """

    may_run: set[str] = set()
    runs: set[str] = set()
    left: Json | None = None
    """The object as the plugin left it in the first turn."""

    def changed(self) -> None:
        self.runs |= self.may_run
        self.may_run = set()


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
    read_again: Callable[[bool], Json] | None = None
    """Reads `new` as if a client had sent it, and returns it. Raises StatusError.

    Its argument: whether unknown fields are refused.
    """
    is_again: bool = False
    """Whether the plugins have their second turn."""
    wants_again: bool = False
    """Whether a plugin has changed the object so that all plugins must have a second turn."""
    memory: dict[str, Reinvocation] = {}
    """What a plugin remembers of the first turn, by its name."""

    def whole(self) -> tuple[Json | None, Json | None]:
        """`old` and `new` with their managed fields."""
        return _whole(self.old, self.old_managed), _whole(self.new, self.new_managed)

    def become(self, value: Json, *, strict: bool = False, renames: bool = False) -> None:
        """Go on with another new object, which is read as if a client had sent it.

        It stays the same object to the server. `strict`: unknown fields are refused. `renames`: a new object may get
        another name. Raises StatusError; then the object stays as it was.
        """
        new = self.new
        assert new is not None
        assert self.read_again is not None
        before = snapshot(new)
        of_server = _OF_SERVER if renames and self.old is None else (*_OF_SERVER, "name")
        metadata = {name: part for name, part in (value.get("metadata") or {}).items() if name not in of_server}
        metadata.pop("managedFields", None)  # The server alone says who owns what.
        metadata |= {name: new["metadata"][name] for name in of_server if name in new["metadata"]}
        new.clear()
        new.update({**value, "apiVersion": before["apiVersion"], "kind": before["kind"], "metadata": metadata})
        try:
            self.new = self.read_again(strict)
        except StatusError:
            new.clear()
            new.update(before)
            raise

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


def snapshot(value: Json) -> Json:
    """The object as it is now; a plugin changes its top and its metadata in place."""
    return {**value, "metadata": dict(value["metadata"])}


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
