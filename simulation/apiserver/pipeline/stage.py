"""One write on its way through the stages."""

from __future__ import annotations

from typing import Any

import msgspec

from simulation.apiserver.admission.attributes import CREATE, UPDATE, Attributes
from simulation.apiserver.fields.managers import Managed
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.strategy import Strategy


class Write(msgspec.Struct, eq=False):
    """See the module. `old` is the stored version.

    `before` is the same object as the resource of the request shows it. Both are None for a new object. `value` is the
    object so far; its top and its metadata may be changed, all below is shared. From the stage `as_stored` on, `before`
    and `value` are in the stored shape.
    """

    context: Context
    call: ResourceCall
    strategy: Strategy
    old: Version | None
    before: Json | None
    value: Json
    moves_metadata: bool = True
    """Whether the metadata differ from those before."""
    sent_managed: Any = None
    """The managed fields in the body."""
    managed: Managed | None = None
    """The owners of the fields after this write; None: `manage` finds them."""
    converted: tuple[Json, Json] | None = None
    """The value after `convert`, in the shape of the request and in the stored one."""
    is_stored: bool = False
    """Whether the value is in the stored shape, which is another one."""

    def attributes(self) -> Attributes:
        """The request as admission sees it."""
        before, value = self.before, self.value
        if self.is_stored:
            before = None if before is None else self._shown(before)
            value = self._shown(value)
        operation = CREATE if before is None else UPDATE
        managed = () if self.old is None else self.old.managed, self.managed or ()
        return Attributes(self.context.core, self.context.authorizer, self.call, operation, before, value, *managed)

    def _shown(self, stored: Json) -> Json:
        return self.strategy.shown(self.call.resource, Version(("", ""), stored, 0)).object


def begin(context: Context, call: ResourceCall, old: Version | None, value: Json) -> Write:
    """A write of `value` in place of `old`; None: a new object."""
    strategy = context.strategies[call.resource.store_key]
    before = None if old is None else strategy.shown(call.resource, old).object
    return Write(context, call, strategy, old, before, value)
