"""Random stories of an island node: power cuts, outages, and what others do meanwhile.

Each is drawn by a seed. `IslandStory` plays one, and fails at the first broken promise:

- Without the API server, eligible pods run again soon after a boot, if the memory is young enough. No other pod is
  started then.
- Nothing runs twice. What finished does not run again, nor does a pod with restartPolicy Never.
- Reunion restarts nothing. What was deleted meanwhile ends.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from actors.island.rules import ANNOTATION
from config.island import IslandSettings
from simulation.cri.behaviour import PREFIX
from simulation.cri.state import ContainerRecord
from tests.simulation.node.island_world import Island, pod_of
from tests.simulation.node.test_api_server import MINUTE
from tests.simulation.node.worlds import SECOND

MAX_AGE = 20 * MINUTE
ELIGIBLE = ("web", "daemon", "batch")
KINDS = (*ELIGIBLE, "db", "told", "once", "job")
"""`batch` restarts on failure and runs for ever, `job` ends by itself."""
SETTLED = 20 * SECOND
"""Pods that are as old are known to the memory, and run."""
SOON = 2 * MINUTE


class IslandStory(Island):
    """See the module."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(f"island {seed}")
        self.alone = False
        """The API server has not answered since the agent began."""
        self.too_old = False
        self.broken: list[str] = []
        self.deleted: set[str] = set()
        self.born: dict[str, int] = {}
        self.up_ns = 0
        """Since when the node has power: what came while it was off, it may never have heard of."""
        self.ended: dict[str, int] = {}
        self.forgotten: set[str] = set()
        """Pods of which the runtime has lost all: only the memory knows that they have finished."""
        self.reached: Counter[str] = Counter()
        self._made = 0
        super().__init__(seed, IslandSettings(max_age_ns=MAX_AGE))

    def now_ns(self) -> int:
        return self.dispatcher.now_ns()

    # --- promises at every step ---------------------------------------------------------------------------------------

    def run(self, ns: int) -> None:
        super().run(ns)
        assert not self.broken, self.broken[0]

    def promise(self, holds: bool, otherwise: str) -> None:
        """Note a broken promise: an error within a call would only fail an actor."""
        if not holds:
            self.broken.append(otherwise)

    def changed(self, record: ContainerRecord) -> None:
        super().changed(record)
        counts = Counter((pod_of(each), each.name) for each in self.live())
        twice = [name for name, count in counts.items() if count > 1]
        self.promise(not twice, f"these run twice: {twice}")
        if record.exit_code == 0 and record.finished_at and kind_of(pod_of(record)) == "job":
            self.ended.setdefault(pod_of(record), self.now_ns())

    def started(self, pod: str) -> None:
        kind = kind_of(pod)
        if self.alone:
            self.promise(kind in (*ELIGIBLE, "job"), f"{pod} is started from memory")
            self.promise(not self.too_old, f"{pod} is started from a memory that is too old")
            self.reached["started from memory"] += 1
        self.promise(kind != "once" or self.starts[pod] == 1, f"{pod} runs twice")
        if self.alone or pod not in self.forgotten:
            self.promise(pod not in self.ended, f"{pod} has finished, and runs again")

    # --- what happens -------------------------------------------------------------------------------------------------

    def play(self) -> None:
        for _ in range(self.draw.randint(3, 6)):
            self.make(self.draw.choice(KINDS))
        for _ in range(self.draw.randint(1, 3)):
            self.in_touch()
            self.outage()
        self.in_touch()

    def make(self, kind: str) -> None:
        self._made += 1
        name = f"{kind}-{self._made}"
        if kind == "db":
            self.create_owned(name, "StatefulSet")
        elif kind == "daemon":
            self.create_owned(name, "DaemonSet")
        else:
            annotations = {f"{PREFIX}run-for.app": f"{self.draw.randint(5, 120)}s"} if kind == "job" else {}
            annotations |= {ANNOTATION: "never"} if kind == "told" else {}
            policy = {"once": "Never", "job": "OnFailure", "batch": "OnFailure"}.get(kind, "Always")
            self.create(name, annotations=annotations, restartPolicy=policy)
        self.born[name] = self.now_ns()

    def lose_power(self, for_ns: int = MINUTE) -> None:
        super().lose_power(for_ns)
        self.up_ns = self.now_ns()

    def in_touch(self) -> None:
        """The API server is there, and things go on."""
        for _ in range(self.draw.randint(0, 4)):
            self.one_of_many()
            self.run(self.draw.randint(0, 20) * SECOND)
        if self.draw.random() < 0.7:
            self.run(SETTLED)

    def one_of_many(self) -> None:
        what = self.draw.random()
        names = sorted(self.born.keys() - self.deleted)
        if what < 0.5 or not names:
            self.make(self.draw.choice(KINDS))
        elif what < 0.75:
            self.let_go(self.draw.choice(names))
        elif what < 0.9:
            self.node.restart_agent()
        else:
            self.lose_power(self.draw.randint(1, 120) * SECOND)
            self.reached["power cut in touch"] += 1

    def let_go(self, name: str) -> None:
        if name in self.pods():
            self.delete(name, self.draw.choice((None, 0)))
        self.deleted.add(name)

    def outage(self) -> None:
        """The API server goes away; the node loses power, mostly; they meet again."""
        away_ns = self.now_ns()
        heard = (name for name, born_ns in self.born.items() if away_ns - max(born_ns, self.up_ns) >= SETTLED)
        settled = set(heard) - self.deleted
        self.go_away()
        self.run(self.draw.choice((0, 5, 60, 300)) * SECOND)
        for _ in range(self.draw.randint(0, 2)):
            self.power_cut(away_ns, settled)
        if self.draw.random() < 0.3:
            self.node.restart_agent()
            self.alone = True
            self.too_old = self.too_old or self.now_ns() - away_ns > MAX_AGE
            self.run(30 * SECOND)
        for name in sorted(self.born.keys() - self.deleted):
            if self.draw.random() < 0.2:
                self.let_go(name)
                self.reached["deleted meanwhile"] += 1
        if self.draw.random() < 0.5:
            self.make(self.draw.choice(KINDS))
        self.meet_again()

    def power_cut(self, away_ns: int, settled: set[str]) -> None:
        self.alone = False
        lasts_ns = self.draw.choice((1, 30, 300, 1500)) * SECOND
        self.node.lose_power()
        if self.draw.random() < 0.4:
            for name in sorted(self.born):  # a runtime whose state was not on the disk
                if kind_of(name) in (*ELIGIBLE, "job"):
                    self.forget(name)
                    self.forgotten.add(name)
        self.run(lasts_ns)
        age_ns = self.now_ns() - away_ns
        # The time of the agreement is written now and then, so the memory may be taken for older than it is.
        self.too_old, young = age_ns > MAX_AGE, age_ns < MAX_AGE - MAX_AGE // 6 - SOON
        self.alone = True
        self.node.boot()
        self.node.restart_agent()
        self.run(SOON)
        expected = {name for name in settled if kind_of(name) in ELIGIBLE}
        if young:
            assert expected <= set(self.running()), f"these do not run again: {sorted(expected - set(self.running()))}"
            self.reached["all run again"] += bool(expected)
        if self.too_old:
            assert not self.running()
            self.reached["too old"] += 1

    def meet_again(self) -> None:
        """The API server is back: nobody who runs and stays is started again."""
        staying = {name for name in self.running() if name not in self.deleted}
        before = {name: self.starts[name] for name in staying}
        self.alone = self.too_old = False
        self.come_back()
        self.run(MINUTE)
        gone = [name for name in self.running() if name in self.deleted]
        assert not gone, f"these were deleted, and still run: {gone}"
        again = [name for name, starts in before.items() if self.starts[name] != starts]
        assert not again, f"reunion has restarted {again}"
        lasting = {name for name in self.born if kind_of(name) in (*ELIGIBLE, "db", "told")} - self.deleted
        assert lasting <= set(self.running()), f"these do not run: {sorted(lasting - set(self.running()))}"
        assert self.from_memory() == 0


def kind_of(pod: str) -> str:
    return pod.partition("-")[0]


def play(seed: int) -> Counter[str]:
    """Play the story of this seed, and return what it has reached.

    Raises AssertionError for a broken promise.
    """
    story = IslandStory(seed)
    story.play()
    return story.reached
