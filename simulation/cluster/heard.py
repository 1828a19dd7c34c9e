"""What the clients of a test have asked: who, how often, what last, what they watch.

A wait that times out tells it. Often the program under test watches another namespace, has stopped asking, or is
refused again and again. Agents and the kit itself do not come over HTTP; a kube-controller-manager of the kit does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from config.values.ages import spoken
from config.values.harmless_text import harmless_line
from simulation.apiserver.requests.answers import Answer, WatchAnswer
from simulation.apiserver.requests.calls import ApiRequest

CLIENTS_AT_MOST = 16
WATCHES_AT_MOST = 16
NAME_AT_MOST, PATH_AT_MOST = 60, 200


@dataclass
class _Heard:
    requests: int = 0
    last: str = ""
    last_ns: int = 0
    watches: dict[str, None] = field(default_factory=dict)


class HeardClients:
    """`now_ns`: the cluster's time. Clients are told apart by the first word of their User-Agent."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._of: OrderedDict[str, _Heard] = OrderedDict()

    async def hear(self, asked: ApiRequest, agent: str, answer: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer; the request is remembered."""
        given = await answer()
        name = agent.partition(" ")[0] or "a client without a User-Agent"
        heard = self._of.setdefault(name, _Heard())
        self._of.move_to_end(name)
        heard.requests += 1
        heard.last_ns = self._now_ns()
        heard.last = f"{asked.method} {asked.path} ({given.code})"
        if isinstance(given, WatchAnswer) and len(heard.watches) < WATCHES_AT_MOST:
            heard.watches[given.resource.group_resource] = None
        if len(self._of) > CLIENTS_AT_MOST:
            self._of.popitem(last=False)
        return given

    def forget(self) -> None:
        """Begin anew, for another test."""
        self._of.clear()

    def lines(self) -> Iterator[str]:
        """One for each client, the one that asked last first."""
        now_ns = self._now_ns()
        for name, heard in reversed(self._of.items()):
            ago = spoken(now_ns - heard.last_ns)
            watches = f"; it has watched {', '.join(heard.watches)}" if heard.watches else "; it watches nothing"
            times = f"{heard.requests} requests" if heard.requests > 1 else "1 request"
            last = harmless_line(heard.last, PATH_AT_MOST)
            yield f"{harmless_line(name, NAME_AT_MOST)}: {times}, the last {last} {ago} ago{watches}"
