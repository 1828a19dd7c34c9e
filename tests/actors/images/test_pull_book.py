"""Who may use an image that is on the node, and what of pulls is on disk after each step."""

from __future__ import annotations

import pytest

from actors.images.access_rules import SECRETS_AT_MOST, Access, Shown, access_of
from actors.images.pull_book import GIVE_UP_NS, Changes, PullBook
from actors.images.pull_rules import AccessPolicy, access_policy, open_to_all
from actors.model.pull_records import (
    ALL_PODS,
    Grants,
    PullAccount,
    PulledRecord,
    PullSecret,
    encode_intent,
    encode_record,
    file_name,
)
from config.frozen_map import FrozenMap
from config.kubelet.reading import read_plain
from runtime.cri.messages import Image
from runtime.state.pull_record_files import PULLED, PULLING, PullFiles

MUST = Access.MUST_AUTHENTICATE
TIME = "2024-10-21T12:26:40Z"
IMAGE, REF = "r.io/app:1", "sha256:1"
MINE, YOURS = PullSecret("u1", "a", "pull", "h1"), PullSecret("u2", "b", "pull", "h2")
ACCOUNT = PullAccount("u3", "a", "builder")
DEFAULT = AccessPolicy("NeverVerifyPreloadedImages")
HERE = Image(id=REF, repo_tags=(IMAGE,))
NONE = PullFiles(FrozenMap(), FrozenMap())


class Disk:
    """The book of a node, and the files as its changes leave them."""

    def __init__(self, policy: AccessPolicy = DEFAULT) -> None:
        self.policy = policy
        self.files: dict[tuple[str, str], bytes] = {}
        self.book = PullBook(policy)
        self.book.load(NONE, 0)

    def apply(self, changes: Changes) -> None:
        for change in changes:
            if change.content is None:
                self.files.pop((change.directory, change.name), None)
            else:
                self.files[change.directory, change.name] = change.content

    def restart(self, now_ns: int = 0) -> None:
        parts = [{n: c for (d, n), c in self.files.items() if d == directory} for directory in (PULLING, PULLED)]
        self.book = PullBook(self.policy)
        assert self.book.load(PullFiles(FrozenMap(parts[0]), FrozenMap(parts[1])), now_ns) == []

    def pull(self, grants: Grants, at_ns: int = 1) -> None:
        self.apply(self.book.intend(IMAGE, IMAGE, at_ns))
        self.apply(self.book.pulled(IMAGE, REF, grants, at_ns, TIME))

    def seen(self, *images: Image, began_ns: int = 2) -> None:
        self.apply(self.book.seen(images, began_ns, began_ns, TIME))

    def access(self, *secrets: PullSecret, image: str = IMAGE) -> Access:
        access, changes = self.book.access(image, REF, Shown(secrets), 3, TIME)
        self.apply(changes)
        quick = open_to_all(self.book.known, image, REF)
        assert quick is None or quick is access, "the short way says what the long one says"
        return access

    def names(self) -> set[tuple[str, str]]:
        return set(self.files)


INTENT, RECORD = (PULLING, file_name(IMAGE)), (PULLED, file_name(REF))


# --- who may use it -------------------------------------------------------------------------------------------------


FIELDS = {"policy": "imagePullCredentialsVerificationPolicy", "allowlist": "preloadedImagesVerificationAllowlist"}


@pytest.mark.parametrize(
    ("policy", "allowlist", "preloaded", "pulled"),
    [
        ("NeverVerify", (), Access.BY_POLICY, Access.BY_POLICY),
        ("NeverVerifyPreloadedImages", (), Access.BY_POLICY, MUST),
        ("AlwaysVerify", (), MUST, MUST),
        ("NeverVerifyAllowlistedImages", ("r.io/app",), Access.BY_POLICY, Access.BY_POLICY),
        ("NeverVerifyAllowlistedImages", ("r.io/*",), Access.BY_POLICY, Access.BY_POLICY),
        ("NeverVerifyAllowlistedImages", ("r.io/ap",), MUST, MUST),
        ("NeverVerifyAllowlistedImages", ("r/*",), MUST, MUST),
    ],
)
# (spec 6.4.1)
def test_the_policy_field_decides_what_a_pod_without_secrets_may_use(
    policy: str, allowlist: tuple[str, ...], preloaded: Access, pulled: Access
) -> None:
    document: dict[str, object] = {FIELDS["policy"]: policy, FIELDS["allowlist"]: list(allowlist)}
    disk = Disk(access_policy(read_plain(document).configuration))
    assert disk.access() is preloaded
    disk.pull(Grants((MINE,)))
    assert disk.access() is pulled


@pytest.mark.parametrize(
    ("known", "shown", "expected", "added"),
    [
        (None, (MINE,), MUST, None),
        (ALL_PODS, (), Access.BY_RECORD, None),
        (Grants(), (MINE,), MUST, None),
        (Grants((MINE,)), (), MUST, None),
        (Grants((MINE,)), (MINE,), Access.BY_RECORD, None),
        (Grants((MINE,)), (YOURS,), MUST, None),
        (Grants((MINE,)), (YOURS, MINE), Access.BY_RECORD, None),
        (Grants((MINE,)), (PullSecret("u9", "c", "x", "h1"),), Access.BY_RECORD, PullSecret("u9", "c", "x", "h1")),
        (Grants((MINE,)), (PullSecret("u1", "a", "pull", "n"),), Access.BY_RECORD, PullSecret("u1", "a", "pull", "n")),
        (Grants((PullSecret("u1", "a", "pull"),)), (PullSecret("u2", "a", "pull"),), MUST, None),
    ],
)
# (spec 6.4.4)
def test_a_record_decides_what_a_pod_with_secrets_may_use(
    known: Grants | None, shown: tuple[PullSecret, ...], expected: Access, added: PullSecret | None
) -> None:
    record = PulledRecord(TIME, REF, {} if known is None else {"r.io/app": known})
    assert access_of(record, IMAGE, Shown(shown)) == (expected, None if added is None else Grants((added,)))
    assert access_of(record, "r.io/other:1", Shown(shown))[0] is MUST


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (Shown(), MUST),
        (Shown((), ACCOUNT), Access.BY_RECORD),
        (Shown((YOURS,), ACCOUNT), Access.BY_RECORD),
        (Shown((), PullAccount("again", "a", "builder")), MUST),
        (Shown((), PullAccount("u3", "a", "other")), MUST),
        (Shown((), PullAccount("u3", "b", "builder")), MUST),
    ],
)
# (spec 6.4.4)
def test_a_service_account_opens_what_it_has_opened_and_one_of_the_same_name_does_not(
    shown: Shown, expected: Access
) -> None:
    record = PulledRecord(TIME, REF, {"r.io/app": Grants((MINE,), (ACCOUNT,))})
    assert access_of(record, IMAGE, shown) == (expected, None)
    assert access_of(record, "r.io/other:1", shown)[0] is MUST


@pytest.mark.parametrize(
    ("policy", "image", "secrets", "name", "expected"),
    [
        ("AlwaysVerify", IMAGE, (), "builder", True),
        ("AlwaysVerify", IMAGE, (YOURS,), "builder", True),
        ("AlwaysVerify", IMAGE, (MINE,), "builder", False),
        ("AlwaysVerify", IMAGE, (), "other", False),
        ("AlwaysVerify", "r.io/other:1", (), "builder", False),
        ("NeverVerify", IMAGE, (), "builder", False),
    ],
)
def test_a_program_is_asked_where_a_service_account_may_make_the_difference(
    policy: str, image: str, secrets: tuple[PullSecret, ...], name: str, expected: bool
) -> None:
    disk = Disk(AccessPolicy(policy))
    disk.pull(Grants((MINE,), (ACCOUNT,)))
    assert disk.book.may_open_by_account(image, REF, secrets, "a", name) is expected
    assert not disk.book.may_open_by_account(image, "sha256:other", secrets, "a", name)


# (spec 6.4.4)
def test_looks_extend_a_record_up_to_a_limit() -> None:
    many = Grants(tuple(PullSecret(f"u{n}", "a", "s", "h1") for n in range(SECRETS_AT_MOST)))
    record = PulledRecord(TIME, REF, {"r.io/app": many})
    assert access_of(record, IMAGE, Shown((PullSecret("new", "b", "s", "h1"),))) == (Access.BY_RECORD, None)


def test_a_secret_that_was_noted_opens_the_image_when_its_content_changes() -> None:
    disk = Disk()
    disk.pull(Grants((MINE,)))
    copied = PullSecret("u9", "c", "copy", "h1")
    assert disk.access(copied) is Access.BY_RECORD
    disk.restart()
    assert disk.access(PullSecret("u9", "c", "copy", "changed")) is Access.BY_RECORD


def test_a_pull_that_needed_nothing_opens_the_image_to_all() -> None:
    disk = Disk(AccessPolicy("AlwaysVerify"))
    disk.pull(ALL_PODS)
    assert disk.access() is Access.BY_RECORD


# --- what is on disk ------------------------------------------------------------------------------------------------


# (spec 6.4.2)
def test_an_intent_stands_while_the_image_is_pulled_and_a_record_afterwards() -> None:
    disk = Disk()
    disk.apply(disk.book.intend(IMAGE, IMAGE, 1))
    disk.apply(disk.book.intend(IMAGE, IMAGE, 1))
    assert disk.names() == {INTENT}
    assert disk.access() is MUST, "the image may be that of the pull"
    disk.apply(disk.book.pulled(IMAGE, REF, ALL_PODS, 1, TIME))
    assert disk.names() == {INTENT, RECORD}
    disk.apply(disk.book.ended(IMAGE, 1, certain=True))
    assert disk.names() == {RECORD}


def test_a_pull_that_was_refused_leaves_nothing() -> None:
    disk = Disk()
    disk.apply(disk.book.intend(IMAGE, IMAGE, 1))
    disk.apply(disk.book.ended(IMAGE, 1, certain=True))
    assert disk.names() == set()
    assert disk.access() is Access.BY_POLICY


@pytest.mark.parametrize("crashes", [True, False])
def test_an_image_that_comes_after_its_pull_has_ended_is_open_to_nobody(crashes: bool) -> None:
    disk = Disk()
    disk.apply(disk.book.intend(IMAGE, IMAGE, 1))
    if crashes:
        disk.restart(1)
    else:
        disk.apply(disk.book.ended(IMAGE, 1, certain=False))
    disk.seen()
    assert disk.names() == {INTENT}
    assert disk.access(MINE) is MUST
    disk.seen(HERE)
    assert disk.names() == {RECORD}
    assert disk.access(MINE) is MUST


# (spec 6.4.5)
def test_an_intent_whose_image_never_comes_goes_after_a_while() -> None:
    disk = Disk()
    disk.apply(disk.book.intend(IMAGE, IMAGE, 1))
    disk.restart(1)
    disk.seen(began_ns=GIVE_UP_NS)
    assert disk.names() == {INTENT}
    disk.seen(began_ns=GIVE_UP_NS + 1)
    assert disk.names() == set()


def test_a_refusal_beside_a_pull_of_unknown_end_keeps_the_intent() -> None:
    disk = Disk()
    for _ in range(2):
        disk.apply(disk.book.intend(IMAGE, IMAGE, 1))
    disk.apply(disk.book.ended(IMAGE, 1, certain=False))
    disk.apply(disk.book.ended(IMAGE, 1, certain=True))
    assert disk.names() == {INTENT}


def test_a_record_goes_with_its_image() -> None:
    disk = Disk()
    disk.pull(ALL_PODS, at_ns=5)
    disk.seen(HERE, began_ns=9)
    assert disk.names() == {RECORD}
    disk.apply(disk.book.removed(REF, 9))
    assert disk.names() == set()


def test_a_record_goes_when_somebody_else_has_removed_the_image() -> None:
    disk = Disk()
    disk.pull(ALL_PODS, at_ns=5)
    disk.restart()
    disk.seen(began_ns=0)
    assert disk.names() == set()


def test_a_look_that_began_before_a_pull_ended_says_nothing_of_its_image() -> None:
    disk = Disk()
    disk.pull(ALL_PODS, at_ns=1)
    disk.pull(ALL_PODS, at_ns=5)
    disk.seen(began_ns=5)
    disk.apply(disk.book.removed(REF, 5))
    assert disk.names() == {RECORD}


def test_a_record_that_cannot_be_read_opens_the_image_to_nobody_until_it_is_pulled_again() -> None:
    book = PullBook(DEFAULT)
    files = PullFiles(FrozenMap({"sha256-x": b"garbage"}), FrozenMap({file_name(REF): b"garbage"}))
    assert len(book.load(files, 0)) == 2
    assert book.access(IMAGE, REF, Shown((MINE,)), 1, TIME)[0] is Access.UNKNOWN
    assert open_to_all(book.known, IMAGE, REF) is None
    assert [change.name for change in book.seen((HERE,), 2, 2, TIME)] == []
    book.intend(IMAGE, IMAGE, 3)
    book.pulled(IMAGE, REF, Grants((MINE,)), 3, TIME)
    assert book.access(IMAGE, REF, Shown((MINE,)), 4, TIME)[0] is Access.BY_RECORD


def test_a_record_that_cannot_be_read_goes_with_its_image() -> None:
    book = PullBook(DEFAULT)
    book.load(PullFiles(FrozenMap(), FrozenMap(), frozenset({file_name(REF)})), 0)
    assert [(change.name, change.content) for change in book.seen((), 2, 2, TIME)] == [(file_name(REF), None)]


def test_the_files_of_a_kubelet_count() -> None:
    record = encode_record(PulledRecord(TIME, REF, {"r.io/app": Grants((MINE,))}))
    book = PullBook(DEFAULT)
    book.load(PullFiles(FrozenMap({file_name("x:1"): encode_intent("x:1")}), FrozenMap({file_name(REF): record})), 0)
    assert book.access(IMAGE, REF, Shown((MINE,)), 1, TIME) == (Access.BY_RECORD, ())
    assert book.access("x:1", "other", Shown(), 1, TIME)[0] is MUST


def test_a_node_that_keeps_no_records_writes_nothing() -> None:
    disk = Disk(AccessPolicy(""))
    disk.pull(ALL_PODS)
    disk.seen(HERE)
    assert disk.names() == set()
