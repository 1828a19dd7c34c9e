"""A record of actors, and their life with it: the same, whatever thread brought what they learned."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pykka
import pytest

from actors.kernel import Actor, ActorSystem, Message, PoolDispatcher, Promise, SimulatedDispatcher, handles
from actors.kernel.recorded.differences import Difference, DifferenceKind
from actors.kernel.recorded.entries import Called, Closed, EffectDone, Entry, Lost, MessageCame, Sent, Turn
from actors.kernel.recorded.recorder import RecordedDispatcher
from actors.kernel.recorded.replayed_edges import ReplayedEdge
from actors.kernel.recorded.replayer import NotRecordedError, ReplayedDispatcher

SECOND_NS = 10**9
WAIT_S = 20.0


class Begin(Message, frozen=True):
    pass


class Heard(Message, frozen=True):
    what: str


class Tick(Message, frozen=True):
    pass


class Weather:
    """A capability: something at once, something later, something again and again."""

    def __init__(self) -> None:
        self.later: Future[str] = Future()
        self.on_news: Callable[[str], None] = lambda _: None
        self.closed = 0

    def now(self, place: str) -> str:
        if place == "nowhere":
            raise OSError(2, "no such place")
        return f"rain in {place}"

    def tomorrow(self, place: str) -> Future[str]:
        return self.later

    def watch(self, on_news: Callable[[str], None]) -> Watch:
        self.on_news = on_news
        return Watch(self)


class Watch:
    def __init__(self, weather: Weather) -> None:
        self._weather = weather

    def close(self) -> None:
        self._weather.closed += 1


class Forecaster(Actor):
    def __init__(self, weather: Any, listener: Any, place: str) -> None:
        super().__init__()
        self._weather = weather
        self._listener = listener
        self._place = place
        self.ticks = 0

    def on_start(self) -> None:
        ref = self.ref
        self._watch = self._weather.watch(lambda news: ref.tell(Heard(news)))
        self.every(SECOND_NS // 50, Tick())

    @handles(Begin)
    async def begin_forecast(self, _: Begin) -> None:
        self._listener.tell(Heard(self._weather.now(self._place)))
        try:
            self._weather.now("nowhere")
        except OSError as failure:
            self._listener.tell(Heard(str(failure)))
        disk = self.lane("disk", size=1, per_key=1)
        self._listener.tell(Heard(await self.wait(disk.submit("key", self._weather.now, "the hills"))))
        self._listener.tell(Heard(await self.wait(self._weather.tomorrow(self._place))))
        self._listener.tell(Heard(f"{self.chance.random()} {self.new_uid()} {self.now_ns()}"))

    @handles(Heard)
    def heard(self, message: Heard) -> None:
        self._listener.tell(message)
        if message.what == "enough":
            self._watch.close()

    @handles(Tick)
    def tick(self, _: Tick) -> None:
        self.ticks += 1
        if self.ticks == 3:
            self._listener.tell(Heard("three ticks"))


class Listener(Actor):
    def __init__(self, heard: list[str]) -> None:
        super().__init__()
        self._heard = heard

    @handles(Heard)
    def take(self, message: Heard) -> None:
        self._heard.append(message.what)


class Same:
    """Compares with what stands in memory."""

    def same_call(self, recorded: Called, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
        def plain(given: tuple[Any, ...]) -> list[Any]:
            return [None if callable(each) else each for each in given]

        return plain(recorded.arguments) == plain(arguments) and recorded.named == named

    def same_message(self, recorded: Sent, path: str, message: Any) -> bool:
        return (recorded.path, recorded.message) == (path, message)

    def told_call(self, recorded: Called) -> str:
        return str(recorded.arguments)

    def told_message(self, recorded: Sent) -> str:
        return str(recorded.message)

    def told(self, what: Any) -> str:
        return str(what)


def make(dispatcher: Any, weather: Any, place: str = "the valley") -> tuple[ActorSystem, list[str]]:
    """The actors of this module."""
    heard: list[str] = []
    system = ActorSystem(dispatcher, name="weather")
    listener = system.spawn(Listener, heard, name="listener")
    system.spawn(Forecaster, weather, listener, place, name="forecaster")
    dispatcher.release()
    return system, heard


def replay(entries: list[Entry], place: str = "the valley") -> tuple[list[str], list[Difference], ReplayedDispatcher]:
    """Live through the record: what was heard, and what differed."""
    differences: list[Difference] = []
    dispatcher = ReplayedDispatcher(entries, Same(), differences.append)
    system, heard = make(dispatcher, ReplayedEdge(dispatcher, "weather"), place)
    dispatcher.root = system.root
    while dispatcher.step() is not None:
        pass
    return heard, differences, dispatcher


@pytest.fixture
def on_threads() -> tuple[list[Entry], list[str], Weather]:
    """A record of actors on threads: what others tell them comes from this one."""
    entries: list[Entry] = []
    weather = Weather()
    dispatcher = RecordedDispatcher(PoolDispatcher(1), entries.append, seed=7)
    system, heard = make(dispatcher, dispatcher.edges.of(weather, "weather"))
    there = threading.Event()
    forecaster = system.find("/forecaster")
    assert forecaster is not None
    forecaster.tell(Begin())
    forecaster.tell(Heard("from here"))
    threading.Timer(0.1, lambda: weather.later.set_result("sun")).start()
    weather.later.add_done_callback(lambda _: threading.Timer(0.1, there.set).start())
    assert there.wait(WAIT_S)
    weather.on_news("news")
    forecaster.ask(Heard("enough"), timeout=WAIT_S)
    assert system.stop()
    assert weather.closed == 1
    assert not dispatcher.lost
    return entries, heard, weather


def test_actors_on_threads_live_again_what_was_recorded(on_threads: tuple[list[Entry], list[str], Weather]):
    entries, heard, _ = on_threads
    again, differences, dispatcher = replay(entries)
    assert not differences
    assert again == heard
    assert {"rain in the valley", "rain in the hills", "sun", "from here", "news", "enough"} < set(heard)
    assert dispatcher.is_complete


def test_the_record_has_what_came_from_outside_and_no_messages_between_actors(
    on_threads: tuple[list[Entry], list[str], Weather],
):
    entries, _, _ = on_threads
    came = [entry.message for entry in entries if isinstance(entry, MessageCame)]
    assert came == [Begin(), Heard("from here"), Heard("enough")]
    assert [entry.value for entry in entries if isinstance(entry, EffectDone)][-1] == "sun"
    assert isinstance(entries[-1], Closed)


def test_another_decision_is_the_first_difference_and_the_replay_goes_on(
    on_threads: tuple[list[Entry], list[str], Weather],
):
    entries, heard, _ = on_threads
    again, differences, dispatcher = replay(entries, place="the city")
    first = differences[0]
    assert (first.kind, first.what, first.actor) == (DifferenceKind.CALL, "weather.now", "/forecaster")
    assert (first.expected, first.got) == ("('the valley',)", "(('the city',), {})")
    assert again == heard  # each answer is the recorded one
    assert dispatcher.is_complete


def test_work_of_a_lane_is_one_effect_and_what_it_calls_is_not_recorded(
    on_threads: tuple[list[Entry], list[str], Weather],
):
    entries, _, _ = on_threads
    sites = [entry.site for entry in entries if isinstance(entry, Called)]
    assert sites.count("weather.now") == 2
    assert "lane disk: weather.now" in sites


def test_a_record_on_the_simulated_dispatcher_is_lived_again_too():
    entries: list[Entry] = []
    weather, world = Weather(), SimulatedDispatcher(3)
    dispatcher = RecordedDispatcher(world, entries.append, seed=1)
    system, heard = make(dispatcher, dispatcher.edges.of(weather, "weather"))
    world.run_for(SECOND_NS)
    forecaster = system.find("/forecaster")
    assert forecaster is not None
    forecaster.tell(Begin())
    world.run_for(SECOND_NS)
    weather.later.set_result("sun")
    world.run_for(SECOND_NS)
    again, differences, replayed = replay(entries)
    assert not differences
    assert again == heard
    assert not replayed.is_complete  # nobody has closed the record


class Waker(Actor):
    """Waits for a promise that no edge knows."""

    def __init__(self, promise: Promise[str]) -> None:
        super().__init__()
        self._promise = promise

    @handles(Begin)
    async def wait_for_it(self, _: Begin) -> None:
        await self.wait(self._promise)


def test_what_wakes_an_actor_past_the_edges_ends_the_record_and_not_the_actor():
    entries: list[Entry] = []
    world, promise = SimulatedDispatcher(3), Promise[str]()
    dispatcher = RecordedDispatcher(world, entries.append, seed=1)
    system = ActorSystem(dispatcher)
    waker = system.spawn(Waker, promise, name="waker")
    dispatcher.release()
    waker.tell(Begin())
    world.run_until_idle()
    promise.set_result("hello")
    world.run_until_idle()
    assert "/waker was woken" in dispatcher.lost
    assert isinstance(entries[-1], Lost)
    assert all(actor.state == "idle" for actor in system.report().actors)


def test_turns_that_overlap_end_the_record():
    entries: list[Entry] = []
    dispatcher = RecordedDispatcher(SimulatedDispatcher(), entries.append, seed=1)
    dispatcher.release()
    dispatcher.begin_step()
    other = threading.Thread(target=dispatcher.begin_step)
    other.start()
    other.join()
    assert entries[-1] == Lost("two actors had turns at the same time")


def test_time_stands_still_within_a_step_and_never_goes_back():
    entries: list[Entry] = []
    world = SimulatedDispatcher()
    dispatcher = RecordedDispatcher(world, entries.append, seed=1)
    dispatcher.release()
    at_ns = dispatcher.begin_step()
    world.run_for(SECOND_NS)
    assert dispatcher.now_ns() == at_ns
    dispatcher.end_step()
    assert dispatcher.now_ns() == at_ns + SECOND_NS


def test_a_record_without_its_beginning_cannot_be_lived():
    with pytest.raises(NotRecordedError, match="begins with"):
        ReplayedDispatcher([Turn(0, "/a", 1)], Same(), lambda _: None)


def test_an_actor_can_be_asked_after_the_record(on_threads: tuple[list[Entry], list[str], Weather]):
    entries, _, _ = on_threads
    stop = next(index for index, entry in enumerate(entries) if type(entry).__name__ == "StopCame")
    differences: list[Difference] = []
    dispatcher = ReplayedDispatcher(entries[:stop], Same(), differences.append)
    system, heard = make(dispatcher, ReplayedEdge(dispatcher, "weather"))
    dispatcher.root = system.root
    while dispatcher.step() is not None:
        pass
    listener = system.find("/listener")
    assert listener is not None
    listener.ask(Heard("a question"), timeout=1)
    assert heard[-1] == "a question"
    assert not differences


def test_a_system_hands_over_to_the_next_one_and_nothing_comes_from_it_any_more():
    pool, weather = PoolDispatcher(1), Weather()
    one: list[Entry] = []
    first = RecordedDispatcher(pool, one.append, seed=1)
    system, _ = make(first, first.edges.of(weather, "weather"))
    forecaster, listener = system.find("/forecaster"), system.find("/listener")
    assert forecaster is not None
    assert listener is not None
    forecaster.tell(Begin())
    listener.ask(Heard("begun"), timeout=WAIT_S)
    stale_news = weather.on_news
    first.hand_over()
    assert system.stop()
    assert isinstance(one[-1], Closed)
    noted = len(one)
    two: list[Entry] = []
    second = RecordedDispatcher(pool, two.append, seed=2)
    system, _ = make(second, second.edges.of(weather, "weather"))
    stale_news("late")
    with pytest.raises(pykka.ActorDeadError):
        forecaster.ask(Heard("late"), timeout=WAIT_S)
    listener = system.find("/listener")
    assert listener is not None
    listener.ask(Heard("here"), timeout=WAIT_S)
    assert system.stop()
    assert len(one) == noted
    assert not second.lost
    assert replay(one)[1] == []
    assert replay(two)[1] == []


class Neglectful(Actor):
    """Leaves open what it has opened."""

    def __init__(self, weather: Any) -> None:
        super().__init__()
        self._weather = weather

    def on_start(self) -> None:
        self._watch = self._weather.watch(lambda _: None)
        self._weather.tomorrow("here")


def test_what_actors_leave_open_is_closed_when_they_hand_over():
    weather = Weather()
    dispatcher = RecordedDispatcher(SimulatedDispatcher(1), lambda _: None, seed=1)
    system = ActorSystem(dispatcher, name="weather")
    system.spawn(Neglectful, dispatcher.edges.of(weather, "weather"), name="neglectful")
    dispatcher.release()
    dispatcher.hand_over()
    system.stop()
    assert weather.closed == 1
    assert weather.later.cancelled()


class Impatient(Actor):
    """Gives up on what it has asked for."""

    def __init__(self, weather: Any, listener: Any) -> None:
        super().__init__()
        self._weather = weather
        self._listener = listener

    @handles(Begin)
    def ask(self, _: Begin) -> None:
        asked = self._weather.tomorrow("here")
        gave_up = asked.cancel()
        self._listener.tell(Heard(f"{gave_up} {asked.done()} {type(asked.exception()).__name__} {asked.cancel()}"))


@pytest.mark.parametrize("kind", [Future, Promise])
def test_an_effect_that_is_cancelled_has_ended_in_the_record_too(kind: Any):
    entries: list[Entry] = []
    weather, heard = Weather(), list[str]()
    weather.later = kind()

    def live(dispatcher: Any, weather: Any) -> ActorSystem:
        system = ActorSystem(dispatcher, name="weather")
        listener = system.spawn(Listener, heard, name="listener")
        system.spawn(Impatient, weather, listener, name="impatient")
        dispatcher.release()
        return system

    simulated = SimulatedDispatcher(1)
    recorder = RecordedDispatcher(simulated, entries.append, seed=1)
    system = live(recorder, recorder.edges.of(weather, "weather"))
    impatient = system.find("/impatient")
    assert impatient is not None
    impatient.tell(Begin())
    simulated.run_for(SECOND_NS)
    assert system.stop()
    assert weather.later.done()
    assert not recorder.lost
    (told,) = heard
    assert told.startswith("True True Cancelled")
    assert told.endswith("False")
    differences: list[Difference] = []
    replayed = ReplayedDispatcher(entries, Same(), differences.append)
    replayed.root = live(replayed, ReplayedEdge(replayed, "weather")).root
    while replayed.step() is not None:
        pass
    assert differences == []
    assert heard == [told, told]
