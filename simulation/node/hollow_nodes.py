"""Hollow nodes: many simulated nodes in one process and in real time.

They join any API server over HTTP.

Each is a whole agent on a host and a runtime that are not there (`SimulatedNode`), with a name, an address, and
addresses for pods of its own. All share the threads of one dispatcher, one event loop and one set of connections: a
node more costs memory and a few sockets, no thread. Each keeps its own watches and rate limits, so that an API server
has as much to do as with so many real nodes.

They begin one after another. At the end they fall silent, and whoever watches leases finds them not ready, as with real
machines; or they take their Node objects with them. What can fail is every call, which the agents try again.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from actors.kernel import Dispatcher
from config.api.resources import NODES
from config.credentials.kubeconfig import ApiAccess
from config.kubelet import KubeletConfiguration
from runtime.api import Api, ApiCall, ApiError, ApiLines, WatchCall, WatchEvent, delete
from runtime.api.calls import K, R
from runtime.api.connections import ApiConnections
from runtime.api.lines import HttpApiLines, api_lines
from runtime.cri.messages import ContainerState, PodSandboxState
from runtime.io.event_loop import LoopThread
from runtime.io.pending import PendingAnswer, Subscription
from simulation.cri import Settings
from simulation.node.simulated_node import SimulatedNode

SECOND_NS = 10**9
GAP_NS = SECOND_NS // 50
"""The pause between the starts of two nodes.

Each lists and registers, and fifty a second are enough of that.
"""
ADDRESSES = ipaddress.IPv4Network("198.18.0.0/15")
"""The network of hollow nodes: it is reserved for such tests (RFC 2544)."""
POD_ADDRESSES = ipaddress.IPv4Network("10.0.0.0/8")
POD_PREFIX = 22
"""The prefix of each node's pod network, with a thousand addresses.

A cluster that sets `spec.podCIDR` overrides it.
"""
LABELS: Mapping[str, str] = {"actorlet.dev/hollow": "true"}
REMOVAL_SECONDS = 30.0
FILES_PER_NODE = 8
"""Sockets that a node needs.

A watch each of pods, the node, services and RuntimeClasses, watches of what pods refer to, and calls.
"""


@dataclass(frozen=True, slots=True)
class HollowPlan:
    """Which nodes: `count` of them from number `first` on, called by `prefix` and number."""

    count: int
    configuration: KubeletConfiguration
    prefix: str = "hollow-"
    first: int = 0
    labels: Mapping[str, str] = field(default_factory=lambda: LABELS)

    def numbers(self) -> range:
        return range(self.first, self.first + self.count)

    def name(self, number: int) -> str:
        return f"{self.prefix}{number}"


@dataclass(frozen=True, slots=True)
class HollowStatus:
    """How they are.

    `live`: registered, and with a lease renewed within its duration. `pods`: sandboxes that are ready; `containers`:
    that run. Counts of calls to the API server and of those that failed are of all time.
    """

    nodes: int
    live: int
    pods: int
    containers: int
    calls: int
    failures: int
    last_failure: str


def address_of(number: int) -> str:
    """The address of the node with that number; there are 131,070 different ones."""
    return str(ADDRESSES[1 + number % (ADDRESSES.num_addresses - 2)])


def pod_cidr_of(number: int) -> str:
    """The network of the pods of that node, unless the cluster assigns another.

    There are 16,384 different ones.
    """
    size = 1 << (32 - POD_PREFIX)
    first = POD_ADDRESSES[number * size % POD_ADDRESSES.num_addresses]
    return f"{first}/{POD_PREFIX}"


class HollowNodes:
    """See the module. `start` once, `stop` once; `status` at any time, from one thread."""

    def __init__(
        self, plan: HollowPlan, dispatcher: Dispatcher, loop: LoopThread, access: ApiAccess, user_agent: str
    ) -> None:
        self.plan = plan
        self._dispatcher = dispatcher
        self._loop = loop
        self._connections = ApiConnections(access, user_agent)
        self._calls = _Calls()
        self._lines: dict[str, HttpApiLines] = {}
        self.nodes: dict[str, SimulatedNode] = {}
        self._stopping = False
        configuration = plan.configuration
        self._lease_ns = configuration.node_lease_duration_seconds * SECOND_NS
        for number in plan.numbers():
            name = plan.name(number)
            lines = self._lines[name] = api_lines(
                access,
                loop,
                user_agent=user_agent,
                qps=configuration.kube_api_qps,
                burst=configuration.kube_api_burst,
                event_qps=configuration.event_record_qps,
                event_burst=configuration.event_burst,
                connections=self._connections,
            )
            self.nodes[name] = SimulatedNode(
                dispatcher,
                settings=Settings(seed=number, pod_cidr=pod_cidr_of(number)),
                configuration=configuration,
                name=name,
                api=self._watched(name, lines),
                address=address_of(number),
                labels=plan.labels,
            )

    def _watched(self, name: str, lines: HttpApiLines) -> ApiLines:
        main, leases, events = (
            _WatchedApi(each, name, self._calls, self._dispatcher) for each in (lines.main, lines.leases, lines.events)
        )
        return ApiLines(main, leases, events, server=lines.server)

    def start(self) -> None:
        """Let them begin, one after another. Returns at once."""
        for number, node in enumerate(self.nodes.values()):
            self._dispatcher.schedule(number * GAP_NS, partial(self._start, node))

    def _start(self, node: SimulatedNode) -> None:
        if not self._stopping:
            node.start()

    def status(self) -> HollowStatus:
        """A look at all of them; costs some microseconds a pod."""
        states = [node.cri.state for node in self.nodes.values()]
        pods = (each for state in states for each in tuple(state.sandboxes.values()))
        containers = (each for state in states for each in tuple(state.containers.values()))
        calls = self._calls
        return HollowStatus(
            nodes=len(self.nodes),
            live=sum(1 for _ in self._live()),
            pods=sum(each.state is PodSandboxState.SANDBOX_READY for each in pods),
            containers=sum(each.state is ContainerState.CONTAINER_RUNNING for each in containers),
            calls=calls.made,
            failures=calls.failed,
            last_failure=calls.last_failure,
        )

    def mark_registered(self, names: Iterable[str]) -> None:
        """Treat these nodes as registered with the API server."""
        self._calls.registered.update(names)

    def _live(self) -> Iterator[str]:
        oldest_ns = self._dispatcher.now_ns() - self._lease_ns
        for name in self.nodes:
            if name in self._calls.registered and self._calls.renewed_ns.get(name, -1) >= oldest_ns:
                yield name

    def stop(self, *, remove: bool = False) -> tuple[str, ...]:
        """End all agents; with `remove`, delete the Node objects. Returns one line per error."""
        self._stopping = True
        troubles = [f"{name} did not end in time" for name, node in self.nodes.items() if not node.stop()]
        if remove:
            troubles += self._remove()
        for lines in self._lines.values():
            lines.close()
        with suppress(RuntimeError, TimeoutError):  # the loop has ended, or hangs: the sockets go with the process
            self._loop.submit(self._connections.close()).result(5)
        return tuple(troubles)

    def _remove(self) -> list[str]:
        asked = [
            (name, self._lines[name].leases.call(delete(NODES, "", name)))
            for name in self.nodes
            if name in self._calls.registered
        ]
        troubles = []
        # All of them were asked for at once; a server that answers nobody is waited for once, and not for each node.
        until_ns = self._dispatcher.now_ns() + int(REMOVAL_SECONDS * SECOND_NS)
        for name, answer in asked:
            try:
                answer.result(max(0, until_ns - self._dispatcher.now_ns()) / SECOND_NS)
            except (ApiError, TimeoutError, CancelledError) as failure:
                if not (isinstance(failure, ApiError) and failure.not_found):
                    troubles.append(f"the Node object {name} is left behind: {str(failure) or 'no answer'}")
        return troubles


class _Calls:
    """The outcomes of the calls of all nodes. Written on the loop only."""

    def __init__(self) -> None:
        self.made = 0
        self.failed = 0
        self.last_failure = ""
        self.registered: set[str] = set()
        self.renewed_ns: dict[str, int] = {}


class _WatchedApi:
    """The API server as one node reaches it, with an eye on what its calls come to."""

    def __init__(self, api: Api, node: str, calls: _Calls, dispatcher: Dispatcher) -> None:
        self._api = api
        self._node = node
        self._calls = calls
        self._now_ns = dispatcher.now_ns

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> PendingAnswer[R]:
        """See `Api.call`."""
        pending = self._api.call(call, timeout_ns=timeout_ns)
        pending.add_done_callback(lambda done: self._ended(call, done))
        return pending

    def _ended(self, call: ApiCall[R], done: PendingAnswer[R]) -> None:
        calls = self._calls
        calls.made += 1
        try:
            done.result(0)
        except CancelledError:
            return  # nobody wanted to know any more
        except Exception as failure:
            if isinstance(failure, ApiError) and failure.code in _OF_NO_CONCERN:
                return
            calls.failed += 1
            calls.last_failure = str(failure)
            return
        if call.method == "GET":
            return
        if "/leases" in call.path:
            calls.renewed_ns[self._node] = self._now_ns()
        elif call.path.startswith("/api/v1/nodes"):
            calls.registered.add(self._node)

    def watch(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        """See `Api.watch`."""
        return self._api.watch(call, on_event, on_end)


_OF_NO_CONCERN = (404, 409)
"""Errors that every agent meets: a missing object, and a conflicting change."""
