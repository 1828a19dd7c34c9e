"""The records of the owner of devices: the book, and what plugins offer (spec 10.11)."""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.model.devices import NO_DEVICES, DeviceBook, Offer


@dataclass(slots=True)
class DeviceRecords:
    """Known since the checkpoint was read. One owner writes them."""

    book: DeviceBook = NO_DEVICES
    offers: dict[str, Offer] = field(default_factory=dict)
    """Of all plugins that this node has or had; one that is not connected may never have come."""
    troubles: dict[str, str] = field(default_factory=dict)
    """Resource -> why its plugin is away."""
    uncounted: frozenset[str] = frozenset()
    """Resources whose published amounts stay: their plugin may yet come."""
    expected: frozenset[str] = frozenset()
    """Resources whose plugin has not come since the agent began."""
    withdrawn: frozenset[str] = frozenset()
    """Resources whose plugin was away for too long. The next agent does not know them."""
