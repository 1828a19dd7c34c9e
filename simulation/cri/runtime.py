"""The shared state of all verbs of the simulated runtime.

State, clock, ids, settings, and events to be delivered later.

Everything runs under one lock, taken by `SimulatedCri.call` and by every timer here; no outside code is called while it
is held. Late answers and events go to the outbox, which one thread at a time empties in order, without the lock.
"""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import msgspec

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.promise import Promise
from actors.kernel.timers import Cancellable
from runtime.cri.messages import CgroupDriver
from simulation.cri.events import EventStreams
from simulation.cri.files import ContainerFiles
from simulation.cri.image_names import full_name
from simulation.cri.state import RuntimeState, SandboxRecord

LOG = logging.getLogger(__name__)

R = TypeVar("R")

FIRST_PID = 1000


class Settings(msgspec.Struct, frozen=True):
    """The initial settings of a simulated runtime."""

    seed: int = 0
    """Decides the ids."""
    images: tuple[str, ...] = ()
    """Images that are there from the start."""
    registry: frozenset[str] | None = None
    """The only images that can be pulled; None for all that have a valid name."""
    image_size_bytes: int = 20 * 2**20
    pull_rate_bytes_per_s: int = 100 * 2**20
    pod_cidr: str = "10.88.0.0/16"
    sandbox_image: str = "registry.k8s.io/pause:3.10"
    runtime_handlers: tuple[str, ...] = ("runc",)
    cgroup_driver: CgroupDriver = CgroupDriver.CGROUPFS
    image_directory: str = "/var/lib/simulated-cri/images"


class Runtime:
    def __init__(self, dispatcher: Dispatcher, settings: Settings, files: ContainerFiles | None) -> None:
        self.state = RuntimeState()
        self.settings = settings
        self.files = files
        self.lock = threading.RLock()
        self.events = EventStreams(self)
        self.runtime_ready = True
        self.network_ready = True
        self.pod_cidr = settings.pod_cidr
        self._lists: dict[str, tuple[int, Any]] = {}
        """The last complete answer of each list verb, with the version of the state it shows."""
        self._dispatcher = dispatcher
        self.wall_ns = dispatcher.wall_ns
        self._ids = 0
        self._pids = FIRST_PID
        self._first_address, self._last_address = _addresses_of(settings.pod_cidr)
        """Of those that no pod has had yet."""
        self._free_addresses: deque[str] = deque()
        self._taken_addresses: set[str] = set()
        self.outbox: deque[tuple[Callable[[Any], object], Any]] = deque()
        """What is to be told, and to whom: see `later` and `tell`."""
        self._telling = False
        self.registry = None if settings.registry is None else {full_name(name) for name in settings.registry}

    def listed(self, key: str, answer: Callable[[], R]) -> R:
        """The answer of a list verb: the same object as before until the state changes."""
        version, known = self._lists.get(key, (-1, None))
        if version != self.state.version:
            known = answer()
            self._lists[key] = (self.state.version, known)
        return cast(R, known)

    # --- time, names, addresses -------------------------------------------------------------------------------------

    def after(self, ns: int, fn: Callable[[], object]) -> Cancellable:
        """Call `fn` under the lock in `ns` ns."""

        def run() -> None:
            with self.lock:
                fn()
            self.tell()

        return self._dispatcher.schedule(ns, run)

    def new_id(self) -> str:
        """64 hexadecimal digits that the seed decides."""
        self._ids += 1
        return hashlib.sha256(b"%d %d" % (self.settings.seed, self._ids)).hexdigest()

    def new_pid(self) -> int:
        self._pids += 1
        return self._pids

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; deliver afterwards what was handed in meanwhile."""
        with self.lock:
            yield
        self.tell()

    # --- telling the outside ----------------------------------------------------------------------------------------

    def later(self, fn: Callable[[Any], object], value: Any) -> None:
        """Call `fn(value)` once the lock is free, after all that was handed in before."""
        self.outbox.append((fn, value))

    def answer(self, promise: Promise[Any], value: Any) -> None:
        self.outbox.append((promise.set_result, value))

    def refuse(self, promise: Promise[Any], error: BaseException) -> None:
        self.outbox.append((promise.set_exception, error))

    def tell(self) -> None:
        """Empty the outbox, unless another thread, or a caller up the stack, is at it."""
        outbox = self.outbox
        while outbox:
            with self.lock:
                if self._telling:
                    return
                self._telling = True
            try:
                # Others leave to us what they hand in meanwhile; what is too late for this loop meets the outer one.
                while outbox:
                    fn, value = outbox.popleft()
                    try:
                        fn(value)
                    except Exception:
                        LOG.exception("a callback of the simulated runtime failed")
            finally:
                self._telling = False

    # --- addresses --------------------------------------------------------------------------------------------------

    def use_pod_network(self, cidr: str) -> None:
        """Take new addresses from another network; those that are taken stay."""
        if cidr != self.pod_cidr:
            self.pod_cidr = cidr
            self._first_address, self._last_address = _addresses_of(cidr)
            self._free_addresses.clear()

    def take_address(self) -> str:
        """A free address of the pod network, the longest unused one first; empty when there is none."""
        while self._first_address <= self._last_address:
            address = ".".join(map(str, self._first_address.to_bytes(4, "big")))
            self._first_address += 1
            if address not in self._taken_addresses:
                self._taken_addresses.add(address)
                return address
        if not self._free_addresses:
            return ""
        address = self._free_addresses.popleft()
        self._taken_addresses.add(address)
        return address

    def free_address(self, sandbox: SandboxRecord) -> None:
        """Take down the network of a sandbox, and take its address back."""
        if sandbox.network_up and sandbox.ip:
            self._taken_addresses.discard(sandbox.ip)
            if sandbox.network == self.pod_cidr:
                self._free_addresses.append(sandbox.ip)
        if sandbox.network_up:
            sandbox.network_up = False
            self.state.changed(sandbox)


def _addresses_of(cidr: str) -> tuple[int, int]:
    """The first and the last address that pods can have.

    They leave out the addresses of network, gateway and broadcast.
    """
    network = ipaddress.IPv4Network(cidr)
    return int(network.network_address) + 2, int(network.broadcast_address) - 1
