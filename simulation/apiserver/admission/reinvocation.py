"""Who runs again when a later plugin, or a later policy or webhook, has changed an object.

A kube-apiserver gives all plugins a second turn then, and no third one. Plugins of policies and of webhooks run only
those parts again whose `reinvocationPolicy` is `IfNeeded`, and which ran before the change.
"""

from __future__ import annotations

from simulation.apiserver.admission.attributes import Attributes, Reinvocation, snapshot


class Turn:
    """The turn of a plugin with parts. `end` it after the last part."""

    def __init__(self, this: Attributes, plugin: str) -> None:
        self._this = this
        self._memory = this.memory.setdefault(plugin, Reinvocation())
        if this.is_again and this.new != self._memory.left:
            self._memory.changed()  # Plugins without parts have changed it in their second turn.

    def is_for(self, part: str) -> bool:
        """Whether that part runs in this turn."""
        return not self._this.is_again or part in self._memory.runs

    def ran(self, part: str, *, changed: bool, policy: str | None) -> None:
        """A part has run. `policy`: its reinvocationPolicy."""
        if changed:
            self._memory.changed()
            self._this.wants_again = True
        if policy == "IfNeeded":
            self._memory.may_run.add(part)

    def end(self, *, changed: bool = False) -> None:
        """`changed`: whether even the parts that have changed the object run again."""
        if changed:
            self._memory.changed()
            self._this.wants_again = True
        new = self._this.new
        self._memory.left = None if new is None else snapshot(new)
