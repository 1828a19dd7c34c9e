"""As many pods start at a time as the runtime makes use of, and those that hang leave places."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.messages.pods import RuntimeStateObserved, StartGoesOn, StartOver
from actors.sync.start_window import QUIET_NS, SECOND_NS, STUCK_NS, StartWindow, most_starts
from actors.sync.turns import StartTurns
from tests.actors.sync.test_turns import new
from tests.actors.sync.worlds import ADD, World, api

MS = SECOND_NS // 1000
MOST = most_starts(2)


def never(_: int) -> bool:
    return False


class Burst:
    """Pods that come at once start on a runtime, in steps of ten milliseconds.

    `alone_ns`: what a start takes alone, give or take a fifth. `a_second`: the most starts that the runtime ends in a
    second, which may depend on how many are under way; it works on all at a time. A sandbox takes three fifths of a
    start. Those that `hang` never start.
    """

    def __init__(
        self,
        pods: int,
        alone_ns: int,
        a_second: float | Callable[[int], float],
        hang: Callable[[int], bool] = never,
    ) -> None:
        most = a_second if callable(a_second) else lambda _: a_second
        turns = StartTurns(MOST)
        for number in range(pods):
            turns.join(str(number), 0, 0)
        self.ready_ns: dict[int, int] = {}
        self.widest = 0
        left: dict[int, float] = {}
        sandbox_at: dict[int, float] = {}
        began_ns: dict[int, int] = {}
        now_ns, well = 0, sum(not hang(number) for number in range(pods))
        while len(self.ready_ns) < well:
            while (uid := turns.next(now_ns)) is not None:
                if not hang(int(uid)):
                    left[int(uid)] = 0.8 + 7 * int(uid) % 10 * 0.044
                    sandbox_at[int(uid)], began_ns[int(uid)] = 0.4 * left[int(uid)], now_ns
            self.widest = max(self.widest, len(left))
            now_ns += 10 * MS
            at_a_time = max(len(left), 1)
            share = 10 * MS * min(1 / alone_ns, most(at_a_time) / SECOND_NS / at_a_time)
            for number in [number for number in left if left[number] <= share]:
                del left[number]
                self.ready_ns[number] = now_ns
                turns.started(str(number), now_ns)
            left = {number: each - share for number, each in left.items()}
            for number in [number for number in sandbox_at if number not in left or left[number] <= sandbox_at[number]]:
                del sandbox_at[number]
                if now_ns - began_ns[number] >= SECOND_NS:
                    turns.goes_on(now_ns)

    def when(self, share: float) -> float:
        """When this share of the pods was Ready, in seconds."""
        return sorted(self.ready_ns.values())[int(share * len(self.ready_ns)) - 1] / SECOND_NS


@pytest.mark.parametrize("a_second", [2.5, 3, 4, 5, 6, 8, 12])
def test_on_a_slow_runtime_half_of_fifty_pods_are_ready_after_little_more_than_half_of_the_time(a_second: float):
    burst = Burst(50, 150 * MS, a_second)
    assert burst.when(0.5) <= 0.67 * burst.when(1)
    assert burst.when(1) <= 1.05 * 50 / a_second
    assert burst.widest <= 20


def test_a_runtime_that_starts_fewer_a_second_if_it_starts_many_at_a_time_gets_a_narrow_window():
    """containerd was measured so on two CPUs: 13 a second with 4 at a time, 9 with 8."""
    burst = Burst(50, 150 * MS, lambda at_a_time: min(max(13.3 - 1.15 * (at_a_time - 4), 8), 13.3))
    assert burst.when(1) <= 1.15 * 50 / 13.3
    assert burst.when(0.5) <= 0.6 * burst.when(1)


def test_a_runtime_that_starts_more_a_second_if_it_may_gets_a_wider_window():
    burst = Burst(200, 150 * MS, lambda at_a_time: min(10 + 0.8 * at_a_time, 22))
    assert burst.widest >= 12
    assert burst.when(1) <= 0.75 * 200 / (10 + 0.8 * 4), "of what it takes with four at a time"


@pytest.mark.parametrize("a_second", [50, 120, 200, 400])
def test_on_a_fast_runtime_many_pods_start_at_a_time(a_second: float):
    burst = Burst(1000, 20 * MS, a_second)
    assert burst.widest >= 48
    assert burst.when(0.5) <= 0.6 * burst.when(1)


@pytest.mark.parametrize("takes_ms", [700, 2000])
def test_a_runtime_that_takes_its_time_for_few_as_for_many_gets_a_wide_window(takes_ms: int):
    burst = Burst(110, takes_ms * MS, 1000)
    assert burst.widest >= 24
    assert burst.when(1) <= 16  # with four at a time: 20 and 28


def test_pods_that_hang_do_not_keep_others_from_starting():
    few = Burst(10, 20 * MS, 200, hang=lambda number: number < 5)
    assert few.when(1) < 1
    many = Burst(120, 20 * MS, 200, hang=lambda number: number < 110)
    assert many.when(1) <= 3.1
    on_a_slow_one = Burst(120, 150 * MS, 8, hang=lambda number: number < 110)
    assert on_a_slow_one.when(1) <= 3 + 1.1 * 10 / 8


@pytest.mark.parametrize(("one_in", "seconds"), [(2, 1), (4, 1), (10, 2.5), (20, 2.5), (50, 2.5)])
def test_a_few_pods_among_many_that_hang_start_soon(one_in: int, seconds: float):
    mixed = Burst(120, 20 * MS, 200, hang=lambda number: number % one_in != one_in - 1)
    assert mixed.when(1) <= seconds


@pytest.mark.parametrize(
    ("took_ms", "places", "others_wait", "expected"),
    [
        (20, 8, True, 8),
        (250, 8, True, 8),
        (251, 8, True, 6),
        (5000, 8, True, 6),
        (20, 8, False, 7),
        (5000, 8, False, 7),
        (1000, 32, True, 8),
        (1001, 32, True, 6),
    ],
)
def test_a_quick_start_makes_room_and_a_slow_one_takes_it_while_others_wait(
    took_ms: int, places: int, others_wait: bool, expected: int
):
    window = StartWindow(MOST)
    window.ended(took_ms * MS, places, SECOND_NS, others_wait)
    assert window.places == expected


def test_a_start_is_slow_only_if_it_takes_longer_than_with_few():
    window = StartWindow(MOST)
    window.late(8, SECOND_NS)
    assert window.places == window.fewest == 4  # nothing has ended yet: the runtime may be slow
    window.ended(2000 * MS, 4, 2 * SECOND_NS, True)
    window.ended(2300 * MS, 5, 2 * SECOND_NS, True)
    assert window.places == 6
    window.ended(2800 * MS, 6, 2 * SECOND_NS, True)
    assert window.places == 5


@pytest.mark.parametrize(
    ("took_ms", "expected_ms"),
    [
        ((), 1000),
        ((20,), 250),
        ((20, 20, 20, 420), 480),
        ((200,), 800),
        ((500,), 1000),
        ((20, 9000), 1000),
        ((900, 9000), 1800),
        ((2000, 9000), 3000),
        ((9000,), 3000),
    ],
)
def test_a_turn_lasts_four_times_the_mean_up_to_a_second_or_twice_the_quickest_start(
    took_ms: tuple[int, ...], expected_ms: int
):
    window = StartWindow(MOST)
    for each in took_ms:
        window.ended(each * MS, 8, 0, False)
    assert window.turn_ns == expected_ms * MS


@pytest.mark.parametrize(
    ("took_ms", "expected"),
    [
        (None, 4),  # none has ended yet, so the runtime may be slow
        (20, 10),  # it hangs, for others are quick
        (499, 10),
        (1400, 7),  # it takes as long for many as for few
        (2000, 4),  # the runtime is slow
    ],
)
def test_what_late_starts_say_depends_on_how_quick_the_others_are(took_ms: int | None, expected: int):
    window = StartWindow(MOST)
    window.ended(1200 * MS, 4, 0, False)
    if took_ms is None:
        window.forget()
    for each in [] if took_ms is None else 60 * [took_ms]:
        window.ended(each * MS, 7, SECOND_NS, False)
    window.late(3, SECOND_NS)
    assert window.places == expected


def test_when_all_hang_the_window_opens_after_two_seconds():
    window = StartWindow(MOST)
    window.pods_come(0)
    window.late(7, STUCK_NS - 1)
    assert window.places == window.fewest
    window.late(4, STUCK_NS)
    assert window.places == MOST


def test_where_starts_take_long_the_window_opens_later():
    window = StartWindow(MOST)
    window.ended(2500 * MS, 8, 0, True)
    window.late(4, 2 * 2500 * MS - 1)
    assert window.places == window.fewest
    window.late(4, 2 * 2500 * MS)
    assert window.places == MOST


def test_a_slow_sandbox_shows_that_a_slow_runtime_does_not_hang():
    window = StartWindow(MOST)
    window.pods_come(0)
    window.goes_on(STUCK_NS - 1)
    window.late(4, 2 * STUCK_NS - 2)
    assert window.places == window.fewest
    window.late(4, 2 * STUCK_NS - 1)
    assert window.places == MOST


def test_a_quiet_minute_forgets_what_was_learnt():
    window = StartWindow(MOST)
    for second in range(100):
        window.ended(20 * MS, 8, second * SECOND_NS, True)
    window.pods_come(99 * SECOND_NS + QUIET_NS - 1)
    assert window.places == MOST
    window.pods_come(99 * SECOND_NS + 2 * QUIET_NS)
    assert window.places == 7


@given(
    st.integers(1, MOST),
    st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 9), st.booleans(), st.integers(0, 4000)), max_size=100),
)
def test_whatever_happens_there_are_places_but_never_too_many(most: int, steps: list[tuple[int, int, bool, int]]):
    window, now_ns = StartWindow(most), 0
    for took_ms, late, others_wait, pause_ms in steps:
        now_ns += pause_ms * MS
        if late:
            window.late(late, now_ns)
        else:
            window.ended(took_ms * MS, window.places, now_ns, others_wait)
        assert min(most, 2) <= window.fewest <= window.places <= most
        assert SECOND_NS // 4 <= window.turn_ns <= 3 * SECOND_NS


# --- what the sync loop makes of it -----------------------------------------------------------------------------------


@pytest.fixture
def world() -> World:
    """Seven pods at a time at first; 33 more wait."""
    world = World(starts_at_once=MOST)
    world.ready()
    world.tell(*(api(ADD, new(str(number))) for number in range(40)))
    assert len(world.workers()) == 7
    return world


def test_each_quick_start_lets_two_more_begin(world: World):
    world.tell(StartOver("0", started=True), StartOver("1", started=True))
    assert len(world.workers()) == 11
    world.system.stop()


def test_a_pod_that_waits_for_a_pull_teaches_nothing(world: World):
    world.tell(StartOver("0"), StartOver("1"))
    assert len(world.workers()) == 9
    world.run(SECOND_NS // 2)
    world.tell(StartOver("0", started=True))
    assert len(world.workers()) == 9
    world.system.stop()


def test_a_new_runtime_or_one_that_is_back_begins_anew(world: World):
    world.tell(*(StartOver(str(number), started=True) for number in range(7)))
    assert len(world.workers()) == 21
    world.tell(RuntimeStateObserved("", "", "containerd", runtime_version="2"))
    world.tell(*(StartOver(str(number)) for number in range(7, 14)))
    assert len(world.workers()) == 21
    world.tell(StartOver("14"))
    assert len(world.workers()) == 22
    world.system.stop()


def test_a_slow_sandbox_keeps_the_window_from_opening(world: World):
    world.run(SECOND_NS)
    assert len(world.workers()) == 7 + 4
    world.tell(StartGoesOn())
    world.run(SECOND_NS)
    assert len(world.workers()) == 7 + 4 + 4
    world.run(2 * SECOND_NS)
    assert len(world.workers()) == 40
    world.system.stop()
