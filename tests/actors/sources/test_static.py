"""Sources of static pods: what they show, what they keep, and how often they say what is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from actors.kernel import ActorRef, ActorSystem, Promise, SimulatedDispatcher, broken, kept
from actors.messages.pods import ListProblems, SourceProblem, SourceRead
from actors.sources.static import FileSourceActor, decoder_of
from actors.sources.url import HttpSourceActor
from config.manifests import ManifestError, ReadManifest
from config.objects import ObjectMeta, Pod
from runtime.manifests.files import ManifestFile, ManifestReading
from runtime.manifests.url import ManifestAnswer, ManifestFetchError
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
PERIOD_NS = 20 * SECOND_NS


def decode(content: bytes, origin: str) -> ReadManifest:
    """Names of pods, separated by spaces.

    A `!` makes the document a broken one, a `?` one with an odd field.
    """
    text = content.decode()
    if "!" in text:
        return ReadManifest(errors=(ManifestError(origin, "$.spec", f"{text} is broken", "mend it", 3),))
    pods = tuple(Pod(metadata=ObjectMeta(name=name, uid=f"{origin} {name}")) for name in text.strip("?").split())
    odd = ManifestError(origin, "$.odd", "this field is not known")
    return ReadManifest(pods, warnings=(odd,) if "?" in text else ())


class Directory:
    """A directory in memory: file name -> content, or None for one that cannot be read."""

    def __init__(self) -> None:
        self.files: dict[str, str | None] | None = {}
        self.problem = ""
        self.hangs = False
        self.readings = 0
        self.on_change: Callable[[str], None] = lambda removed: None
        self.closed = False

    def read(self, path: str) -> Any:
        self.readings += 1
        if self.hangs:
            return Promise()
        if self.problem:
            return ManifestReading(problem=self.problem)
        if self.files is None:
            return ManifestReading(missing=True)
        return ManifestReading(tuple(self._file(f"{path}/{name}", text) for name, text in self.files.items()))

    @staticmethod
    def _file(path: str, text: str | None) -> ManifestFile:
        return ManifestFile(path, None, "Permission denied") if text is None else ManifestFile(path, text.encode())

    def watch(self, path: str, on_change: Callable[[str], None]) -> Directory:
        self.on_change = on_change
        return self

    def renew(self) -> str:
        return ""

    def close(self) -> None:
        self.closed = True


class Server:
    """A server in memory that gives the same answer until told another."""

    def __init__(self) -> None:
        self.answer: ManifestAnswer | Exception | None = ManifestAnswer(200, b"web")
        self.asked = 0

    def get(self, url: str, headers: Mapping[str, Sequence[str]]) -> Promise[ManifestAnswer]:
        self.asked += 1
        if self.answer is None:
            return Promise()
        return broken(self.answer) if isinstance(self.answer, Exception) else kept(self.answer)


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.storage, self.sets = Recorder.spawn_in(self.system, "storage", SourceRead)
        self.directory = Directory()
        self.server = Server()

    def files(self) -> ActorRef:
        args = (self.storage, self.directory, "/m", PERIOD_NS, decode)
        return self.system.spawn(FileSourceActor, *args, name="file")

    def http(self) -> ActorRef:
        return self.system.spawn(
            HttpSourceActor, self.storage, self.server, "http://x/", {}, PERIOD_NS, decode, name="http"
        )

    def seen(self, after_ns: int = PERIOD_NS) -> list[str] | None:
        """The names in the last set, after some time."""
        self.dispatcher.run_for(after_ns)
        return [pod.metadata.name for pod in self.sets[-1].pods] if self.sets else None

    def problems(self, ref: ActorRef) -> list[str]:
        problems: tuple[SourceProblem, ...] = ref.ask(ListProblems())
        return [str(problem) for problem in problems]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_a_password_in_an_address_is_nowhere_to_be_seen(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    caplog.set_level("DEBUG")
    asked: list[str] = []
    get = world.server.get

    def note(url: str, headers: Any) -> Any:
        asked.append(url)
        return get(url, headers)

    monkeypatch.setattr(world.server, "get", note)
    url = "http://node:secret@x/?token=abcdef"
    world.server.answer = ManifestAnswer(500, b"")
    ref = world.system.spawn(HttpSourceActor, world.storage, world.server, url, {}, PERIOD_NS, decode, name="http")
    world.seen(5 * PERIOD_NS)
    world.server.answer = None
    world.seen(100 * PERIOD_NS)
    assert asked[0] == url
    assert "http://node:***@x/?token=***" in caplog.text
    for text in (caplog.text, *world.problems(ref)):
        assert "secret" not in text
        assert "abcdef" not in text


# --- files ------------------------------------------------------------------------------------------------------------


# (spec 1.1.1)
def test_all_files_are_one_set_at_the_start_and_after_each_period(world: World):
    world.directory.files = {"a": "one two", "b": "three"}
    world.files()
    assert world.seen(0) == ["one", "two", "three"]
    world.directory.files["b"] = "four"
    assert world.seen() == ["one", "two", "four"]


def test_a_set_that_has_not_changed_is_the_same_tuple(world: World):
    world.directory.files = {"a": "one"}
    world.files()
    world.seen(3 * PERIOD_NS)
    assert len(world.sets) == 4
    assert len({id(message.pods) for message in world.sets}) == 1


# (spec 1.1.1)
def test_a_change_is_read_soon_and_a_burst_of_changes_is_read_once(world: World):
    world.files()
    world.seen(0)
    for _ in range(5):
        world.directory.on_change("")
        world.dispatcher.run_for(10_000_000)
    world.directory.files = {"a": "one"}
    world.directory.on_change("")
    assert world.seen(200_000_000) == ["one"]
    assert world.directory.readings == 2


def test_changes_without_end_do_not_hold_up_the_reading(world: World):
    world.files()
    world.directory.files = {"a": "one"}
    for _ in range(60):
        world.directory.on_change("")
        world.dispatcher.run_for(10_000_000)
    assert world.seen(0) == ["one"]


@pytest.mark.parametrize(
    ("removed", "anew"),
    [
        pytest.param(["a"], {"/m/a one"}, id="removed and put back"),
        pytest.param(["a", "", "b"], {"/m/a one", "/m/b two"}, id="two of them"),
        pytest.param([""], set(), id="saved"),
        pytest.param(["other"], set(), id="another file removed"),
    ],
)
def test_the_pods_of_a_file_that_was_removed_and_put_back_unchanged_begin_anew(
    world: World, removed: list[str], anew: set[str]
):
    world.directory.files = {"a": "one", "b": "two"}
    world.files()
    world.seen(0)
    for name in removed:
        world.directory.on_change(name)
    assert world.seen(SECOND_NS) == ["one", "two"]
    assert world.sets[-1].anew == anew
    world.seen(2 * PERIOD_NS)
    assert world.sets[-1].anew == set(), "told once"


@pytest.mark.parametrize("bad", ["one!", None])
def test_a_file_that_is_put_back_bad_ends_nothing_and_begins_its_pods_anew_once_it_is_good(
    world: World, bad: str | None
):
    world.directory.files = {"a": "one"}
    world.files()
    world.seen(0)
    world.directory.files = {"a": bad}
    world.directory.on_change("a")
    assert world.seen(SECOND_NS) == ["one"]
    assert world.sets[-1].anew == set()
    world.directory.files = {"a": "one"}
    world.directory.on_change("")
    assert world.seen(SECOND_NS) == ["one"]
    assert world.sets[-1].anew == {"/m/a one"}


def test_a_file_whose_removal_was_seen_by_a_reading_brings_new_pods(world: World):
    world.directory.files = {"a": "one"}
    world.files()
    world.seen(0)
    world.directory.files = {}
    assert world.seen() == []
    world.directory.files = {"a": "one"}
    world.directory.on_change("a")
    assert world.seen(SECOND_NS) == ["one"]
    assert world.sets[-1].anew == set()


# (spec 1.1.5)
def test_a_broken_file_is_named_and_the_others_run(world: World, caplog: pytest.LogCaptureFixture):
    world.directory.files = {"a": "one!", "b": "two"}
    with caplog.at_level(logging.INFO):
        ref = world.files()
        assert world.seen(4 * PERIOD_NS) == ["two"]
    assert world.problems(ref) == ["/m/a:3: $.spec: one! is broken; mend it"]
    assert [record.message for record in caplog.records if "broken" in record.message] == world.problems(ref)


def test_a_field_that_is_not_known_is_said_and_the_pod_runs(world: World):
    world.directory.files = {"a": "one?"}
    ref = world.files()
    assert world.seen() == ["one"]
    (problem,) = ref.ask(ListProblems())
    assert (str(problem), problem.fatal) == ("/m/a: $.odd: this field is not known", False)


@pytest.mark.parametrize("bad", ["one!", None])
# (spec 1.1.7)
def test_a_file_that_goes_bad_loses_nothing_and_one_that_goes_away_does(world: World, bad: str | None):
    world.directory.files = {"a": "one", "b": "two"}
    ref = world.files()
    world.seen(0)
    world.directory.files = {"a": bad, "b": "three"}
    assert world.seen() == ["one", "three"]
    assert len(world.problems(ref)) == 1
    world.directory.files = {"a": "four", "b": "three"}
    assert world.seen() == ["four", "three"]
    assert world.problems(ref) == []
    world.directory.files = {"b": "three"}
    assert world.seen() == ["three"]


# (spec 1.1.6)
def test_a_path_that_is_missing_is_an_empty_set(world: World):
    world.directory.files = None
    ref = world.files()
    assert world.seen(0) == []
    assert world.problems(ref) == ["/m: there is no such file or directory; it is waited for"]
    world.directory.files = {"a": "one"}
    assert world.seen() == ["one"]
    assert world.problems(ref) == []


def test_a_path_that_cannot_be_listed_says_nothing_about_its_pods(world: World):
    world.directory.problem = "Input/output error"
    ref = world.files()
    assert world.seen() is None
    world.directory.problem = ""
    world.directory.files = {"a": "one"}
    assert world.seen() == ["one"]
    world.directory.problem = "Input/output error"
    assert world.seen() == ["one"]
    assert world.problems(ref) == ["/m: cannot be listed: Input/output error"]


def test_a_disk_that_hangs_keeps_what_is_known_and_is_said(world: World):
    world.directory.files = {"a": "one"}
    ref = world.files()
    world.seen(0)
    hanging: Promise[Any] = Promise()
    # On the simulated lane a call that returns a promise is one that hangs.
    world.system.dispatcher.lane("manifests", size=2, per_key=1).submit(ref.path, lambda: hanging)
    assert world.seen(2 * PERIOD_NS + 61 * SECOND_NS) == ["one"]
    assert "cannot be read" in world.problems(ref)[0]
    hanging.set_result(None)
    world.seen(4 * PERIOD_NS)
    assert world.problems(ref) == []


def test_a_stopped_source_watches_no_more(world: World):
    ref = world.files()
    world.seen(0)
    ref.stop()
    assert world.directory.closed


# --- URL --------------------------------------------------------------------------------------------------------------


# (spec 1.1.2)
def test_a_url_is_asked_every_period(world: World):
    world.http()
    assert world.seen(0) == ["web"]
    world.server.answer = ManifestAnswer(200, b"web db")
    assert world.seen() == ["web", "db"]
    first, second = world.sets
    assert world.seen() == ["web", "db"]
    assert world.sets[2].pods is second.pods
    assert first.source == "http"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ManifestAnswer(503, b"other"), "status 503"),
        (ManifestFetchError("connection refused"), "connection refused"),
        (ManifestAnswer(200, b"db!"), "$.spec: db! is broken"),
        (None, "30"),
    ],
)
# (spec 1.1.8)
def test_an_answer_that_is_of_no_use_changes_nothing(world: World, answer: Any, words: str):
    ref = world.http()
    world.seen(0)
    world.server.answer = answer
    assert world.seen(PERIOD_NS + 40 * SECOND_NS) == ["web"]
    (problem,) = world.problems(ref)
    assert words in problem
    world.server.answer = ManifestAnswer(200, b"db")
    assert world.seen(PERIOD_NS + 40 * SECOND_NS) == ["db"]
    assert world.problems(ref) == []


# (spec 1.1.8)
def test_the_same_answer_after_a_failure_is_fine_again(world: World):
    ref = world.http()
    world.seen(0)
    world.server.answer = ManifestFetchError("down")
    world.seen()
    world.server.answer = ManifestAnswer(200, b"web")
    assert world.seen() == ["web"]
    assert world.problems(ref) == []


def test_a_server_that_never_answered_has_said_nothing(world: World):
    world.server.answer = ManifestFetchError("down")
    world.http()
    assert world.seen(3 * PERIOD_NS) is None


# (spec 1.1.8)
def test_an_empty_answer_is_an_error_and_an_empty_set(world: World):
    ref = world.http()
    world.seen(0)
    world.server.answer = ManifestAnswer(200, b"")
    assert world.seen() == []
    assert world.problems(ref) == ["http://x/: the answer is empty; no pod is desired"]


# (spec 1.1.9)
def test_a_server_that_stays_down_is_said_a_few_times(world: World, caplog: pytest.LogCaptureFixture):
    world.server.answer = ManifestFetchError("down")
    with caplog.at_level(logging.INFO):
        world.http()
        world.seen(20 * PERIOD_NS)
    lines = [record.message for record in caplog.records if "down" in record.message]
    assert len(lines) == 4
    assert lines[-1].endswith("failed 4 times, no longer logged")


def test_the_real_decoder_gives_static_pods_or_faults():
    decode_file = decoder_of("file", "node1")
    text = b"{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: nginx}]}}"
    (pod,) = decode_file(text, "/m/web.yaml").pods
    assert pod.metadata.name == "web-node1"
    (error,) = decode_file(b"{apiVersion: v1, kind: Node}", "/m/web.yaml").errors
    assert error.origin == "/m/web.yaml"


def test_a_pod_in_two_files_is_one_problem_that_names_both(world: World, caplog: pytest.LogCaptureFixture):
    world.directory.files = {"a": "web db", "b": "web"}
    with caplog.at_level(logging.INFO):
        ref = world.files()
        assert world.seen(3 * PERIOD_NS) == ["web", "db"]
    (problem,) = world.problems(ref)
    assert problem == "/m/b: pod /web is in /m/a too, and runs from there; rename one of them"
    (left_out,) = world.sets[-1].duplicates
    assert (left_out.pod.metadata.uid, left_out.reason) == ("/m/b web", problem)
    assert caplog.text == "", "the event about it is logged"
    world.directory.files = {"b": "web"}
    assert world.seen() == ["web"]
    assert world.problems(ref) == []
