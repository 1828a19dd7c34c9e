"""A close look at one actor: fields, mailbox, and the place where it waits.

The same text in every run.
"""

from __future__ import annotations

from actors.kernel import Actor, ActorSystem, Message, Promise, SimulatedDispatcher, handles
from actors.kernel.inspection import MAX_TEXT, ActorState, Words, look_closely, text_of_value
from actors.sync.state import PodEntry

SECOND_NS = 10**9


class Fetch(Message, frozen=True):
    key: str

    def coalesce_key(self) -> str:
        return self.key


class Count(Message, frozen=True):
    pass


class Shelf:
    """Says nothing of itself."""

    __slots__ = ("books",)

    def __init__(self) -> None:
        self.books = ["a", "b"]


class Reader(Actor):
    def __init__(self, answer: Promise[str]) -> None:
        super().__init__()
        self.seen: dict[str, int] = {"x": 1}
        self.shelf = Shelf()
        self._answer = answer

    @handles(Fetch)
    async def fetch(self, message: Fetch) -> None:
        await self._ask_for(message.key)

    async def _ask_for(self, key: str) -> None:
        self.seen[key] = len(await self.wait(self._answer, what=f"the book {key}"))

    @handles(Count)
    def count(self, message: Count) -> int:
        return len(self.seen)


def looked_at() -> ActorState:
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    reader = system.spawn(Reader, Promise[str](), name="reader")
    reader.tell(Fetch("a"))
    dispatcher.run_for(SECOND_NS)
    reader.tell(Fetch("b"))
    reader.ask(Count(), block=False)
    dispatcher.run_for(2 * SECOND_NS)
    (cell,) = (cell for cell in system.root.walk() if cell.path == "/reader")
    return look_closely(cell)


def test_fields_are_those_of_the_actor_and_not_of_the_framework():
    fields = dict(looked_at().fields)
    assert list(fields) == ["seen", "shelf", "_answer"]
    assert fields["seen"] == "{'x': 1}"
    assert fields["shelf"] == "Shelf(books=['a', 'b'])"


def test_a_close_look_shows_the_mailbox_in_order_with_sender_and_age():
    first, second = looked_at().mailbox
    assert (first.message, first.sender, first.age_ns, first.asked) == ("Fetch(b)", "outside", 2 * SECOND_NS, False)
    assert (second.message, second.asked) == ("Count", True)


def test_a_close_look_shows_the_line_where_a_handler_waits():
    state = looked_at()
    assert state.info.waiting_for == "the book a"
    assert [place.partition(" ")[0] for place in state.awaits] == ["Reader.fetch", "Reader._ask_for"]
    assert all("(test_close_look.py:" in place for place in state.awaits)


def test_two_close_looks_give_the_same_text():
    assert looked_at() == looked_at()


def test_an_actor_that_is_gone_has_no_fields():
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    system.spawn(Reader, Promise[str](), name="reader")
    (cell,) = (cell for cell in system.root.walk() if cell.path == "/reader")
    assert look_closely(cell).fields == ()


def test_a_pod_entry_of_the_sync_loop_is_shown_field_by_field():
    shown = text_of_value(PodEntry(name="web_default", lives=3), Words())
    assert "name='web_default'" in shown
    assert "lives=3" in shown


def test_an_object_that_several_fields_hold_is_shown_once():
    shelf, words = Shelf(), Words()
    assert text_of_value([[[shelf]]], words) == "[[[Shelf(...)]]]", "too deep for its fields"
    assert text_of_value([shelf, shelf], words) == "[Shelf(books=['a', 'b']), Shelf(as above)]"
    assert text_of_value(shelf, words) == "Shelf(books=['a', 'b'])", "there is room for more of it now"
    assert text_of_value(shelf, words) == "Shelf(as above)"


def test_texts_have_no_addresses_and_an_end():
    words = Words()
    assert text_of_value(lambda: None, words) == "<function test_texts_have_no_addresses_and_an_end.<locals>.<lambda>>"
    assert len(text_of_value(dict.fromkeys(range(1000), "x" * 1000), words)) <= MAX_TEXT + 3
    ring: list[object] = []
    ring.append(ring)
    assert "..." in text_of_value(ring, words)
