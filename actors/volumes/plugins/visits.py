"""The record of a plugin, and the messages that `PluginWatcherActor` sends itself during a visit."""

from __future__ import annotations

import msgspec

from actors.kernel import Message, SoleMessage
from actors.volumes.plugins.rules import DraTaken, Taken
from config.frozen_map import FrozenMap
from runtime.csi.capability import NodeInfo
from runtime.plugin_registration.capability import PluginInfo


class Visit(msgspec.Struct, frozen=True):
    """One socket as found; a new socket at the same path is another visit."""

    socket: str
    identity: str


class LookForPlugins(SoleMessage, frozen=True):
    """To itself: sockets may have come or gone."""


class SocketsListed(Message, frozen=True):
    """To itself: the sockets, path -> identity; None: the listing failed.

    `error`: of the listing or the watch.
    """

    sockets: FrozenMap[str, str] | None
    error: str


class TryPlugin(Message, frozen=True):
    """To itself: the pause after a failure is over."""

    visit: Visit


class PluginIntroduced(Message, frozen=True):
    """To itself: a plugin has told its identity, or failed to (`info` None)."""

    visit: Visit
    info: PluginInfo | None
    error: str


class DriverAnswered(Message, frozen=True):
    """To itself: a driver has told its node ID, or failed to (`info` None).

    `again`: it was registered before.
    """

    visit: Visit
    name: str
    info: NodeInfo | None
    error: str
    again: bool = False


class PluginTold(Message, frozen=True):
    """To itself: a plugin has heard its result, or has not (`error`)."""

    visit: Visit
    error: str


class Plugin(msgspec.Struct):
    """The plugin at a socket.

    `taken`: it is, or is about to be, registered. `info`: what its driver says of this node, as last published. `dra`:
    it is registered as a driver for claims of devices. `said`: the last error logged.
    """

    visit: Visit
    taken: Taken | None = None
    registered: bool = False
    info: NodeInfo | None = None
    busy: bool = False
    failures: int = 0
    said: str = ""
    dra: DraTaken | None = None
