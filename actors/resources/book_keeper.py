"""A part of `ResourceManagerActor`: the book of allocations, with its copy on disk.

It is read at the start.

It owns the file and the writes (`actors.resources.book_saves` says which are due). Others change the book, report that
(`changed`), and may wait until their version is on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from actors.kernel import Actor, Message, Pending, Rank, handles
from actors.model.allocation import NOTHING_KEPT, Book, KeptBook, WrittenBook, actuated_in, book_in
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.resources.book_saves import BookSaves
from runtime.files.state_file import UnreadableStateError
from runtime.state.allocation_file import AllocationFile

T = TypeVar("T")

SECOND_NS = 1_000_000_000
DISK_NS = 15 * SECOND_NS
SAVE_AGAIN_NS = 30 * SECOND_NS
SAVE_PATIENCE_NS = SECOND_NS
"""After so long, write the book once more beside a write that does not end."""
WAITS_FOR_DISK = "the allocations of pods are not on the disk yet: the write has not ended"


class BookRead(Message, frozen=True):
    """To itself: the allocations in the files (None: no file), or why the disk does not give them."""

    kept: KeptBook | None
    error: str


class BookSaved(Message, frozen=True):
    """To itself: this write of the book has ended, with an error or without."""

    number: int
    error: str


class SaveLate(Message, frozen=True):
    """To itself: this write of the book takes too long."""

    number: int


class SaveAgain(Message, frozen=True):
    """To itself: try the disk again."""


class BookKeeper:
    """See the module.

    `book`: None until it is read. `beside`: what writes the books that go to the disk with this one; None for one
    without changes. `reserved`: UIDs of pods whose place is not written to the disk.

    It calls `on_read` once, `on_late` when a write takes long, and `on_saved` with each version that is on the disk.
    """

    def __init__(
        self,
        manager: Actor,
        file: AllocationFile,
        beside: Sequence[Callable[[], Callable[[], None] | None]],
        reserved: Collection[str],
        on_read: Callable[[], None],
        on_late: Callable[[], None],
        on_saved: Callable[[int], None],
    ) -> None:
        self.book: Book | None = None
        self._manager = manager
        self._file = file
        self._beside = beside
        self._reserved = reserved
        self._on_read, self._on_late, self._on_saved = on_read, on_late, on_saved
        self._saves = BookSaves()
        self._saves_later = False

    @property
    def version(self) -> int:
        return self._saves.version

    def changed(self) -> None:
        """The book is another now."""
        self._saves.changed()

    def is_saved(self) -> bool:
        return self._saves.is_saved()

    def read(self) -> None:
        """Begin: the actor has started."""
        self._disk = self._manager.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        self._manager.attempt(partial(self._on_disk, read_allocations, self._file), BookRead)

    @handles(BookRead)
    def book_read(self, message: BookRead) -> None:
        """Work: all pods."""
        kept = message.kept or NOTHING_KEPT
        self.book = Book(kept)
        for problem in filter(None, (*kept.problems, message.error)):
            self._manager.log.warning("the allocations of pods cannot be read, and are made anew: %s", problem)
        self._on_read()

    def save(self) -> None:
        """Write the book to disk; changes during a write go into the next one."""
        if self.book is None or (number := self._saves.begin()) is None:
            return
        written = self.book.written(without=self._reserved)
        beside = tuple(write for writing in self._beside if (write := writing()) is not None)
        save = partial(self._on_disk, save_allocations, self._file, written, beside)
        self._manager.attempt(save, lambda _, error: BookSaved(number, error))
        self._manager.after(SAVE_PATIENCE_NS, SaveLate(number), key=("save", number))

    def _on_disk(self, operation: Callable[..., T], *args: Any) -> Pending[T]:
        """Use the file. It goes first: every pod that comes waits for it."""
        return self._disk.submit("book", operation, *args, deadline_ns=DISK_NS, rank=Rank.FIRST)

    @handles(SaveLate)
    def save_late(self, message: SaveLate) -> None:
        """Work: one reference to each pod in the book."""
        if not self._saves.late(message.number):
            return
        self._manager.log.warning("%s", WAITS_FOR_DISK)
        self._on_late()
        self.save()

    @handles(BookSaved)
    def book_saved(self, message: BookSaved) -> None:
        """Work: one reference to each pod in the book."""
        self._manager.cancel_timer(("save", message.number))
        version = self._saves.ended(message.number, message.error)
        if message.error:
            # The book is for the next agent; this one knows. Pods do not wait for a full disk.
            self._manager.log.warning("the allocations of pods cannot be saved: %s", message.error)
            self._manager.after(SAVE_AGAIN_NS, SaveAgain())
        self._on_saved(version)
        if not message.error:
            self.save()

    def save_later(self) -> None:
        """Batch the writes of releases: nobody waits for them, and the next agent would find out by itself."""
        if not self._saves_later:
            self._saves_later = True
            self._manager.after(SECOND_NS, SaveAgain())

    @handles(SaveAgain)
    def save_again(self, _: SaveAgain) -> None:
        """Work: one reference to each pod in the book."""
        self._saves_later = False
        self.save()


def save_allocations(file: AllocationFile, written: WrittenBook, beside: Sequence[Callable[[], None]] = ()) -> None:
    """Write the files, on the lane: a pod in the book has its shares and devices on the disk."""
    for write in beside:
        write()
    file.save(written.allocated, written.actuated)


def read_allocations(file: AllocationFile) -> KeptBook | None:
    """Both files, on the lane; None without the first.

    Where only the second cannot be read, the runtime counts as told all. Raises OSError.
    """
    problems: list[str] = []
    kept = _of_use(lambda: file.load(book_in), problems)
    actuated = _of_use(lambda: file.load_actuated(actuated_in), problems)
    if kept is not None and actuated is not None:
        kept = msgspec.structs.replace(kept, actuated=actuated)
    return msgspec.structs.replace(kept or NOTHING_KEPT, problems=tuple(problems)) if problems else kept


def _of_use(load: Callable[[], T | None], problems: list[str]) -> T | None:
    """What a file has; None for one of no use, and why is added to `problems`."""
    try:
        return load()
    except UnreadableStateError as fault:
        problems.append(str(fault))
        return None
