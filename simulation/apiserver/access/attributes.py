"""What a request wants to do, as authorizers see it. Pure."""

from __future__ import annotations

import msgspec

from simulation.apiserver.access.references import Key
from simulation.rbac.rules import Access


class AccessAttributes(msgspec.Struct, frozen=True):
    """The attributes of a request for access."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_node: str = ""
    """The only node whose objects a list or watch asks for."""
    field_name: str = ""
    """The only name that a list or watch asks for."""

    @property
    def what(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    @property
    def key(self) -> Key:
        """The only object that is meant."""
        return self.namespace, self.name or self.field_name

    @property
    def access(self) -> Access:
        """The access that roles must grant."""
        return Access(self.verb, self.group, self.what, self.name or self.field_name)
