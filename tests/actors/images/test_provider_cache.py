"""How long answers of credential programs are kept, and for whom."""

from __future__ import annotations

import pytest

from actors.images.provider_cache import KEPT_BYTES, LONGEST_BYTES, NO_ACCOUNT, Account, ProviderCache, annotations_for
from config.credentials.docker_config import Credential, Entries, RegistryEntry
from config.credentials.provider_answers import CacheScope, ProviderAnswer

IMAGE, SIBLING, STRANGER = "r.io/app", "r.io/other", "x.io/app"
MINE = Account("ns", "sa", "uid-1", (("role", "a"),))


def entries(name: str) -> Entries:
    return (RegistryEntry("r.io", Credential(name)),)


@pytest.mark.parametrize(
    ("scope", "good_for"),
    [
        (CacheScope.IMAGE, {IMAGE}),
        (CacheScope.REGISTRY, {IMAGE, SIBLING}),
        (CacheScope.GLOBAL, {IMAGE, SIBLING, STRANGER}),
    ],
)
# (spec 6.3.7)
def test_an_answer_is_good_for_what_its_program_says(scope: CacheScope, good_for: set[str]) -> None:
    cache = ProviderCache()
    cache.store(IMAGE, NO_ACCOUNT, ProviderAnswer(scope, 10, entries("a")), now_ns=0)
    assert {image for image in (IMAGE, SIBLING, STRANGER) if cache.find(image, NO_ACCOUNT, 10) is not None} == good_for
    assert cache.find(IMAGE, NO_ACCOUNT, 11) is None


def test_the_closest_answer_wins() -> None:
    cache = ProviderCache()
    for scope in CacheScope:
        cache.store(IMAGE, NO_ACCOUNT, ProviderAnswer(scope, 10, entries(scope.value)), now_ns=0)
    assert cache.find(IMAGE, NO_ACCOUNT, 1) == entries("Image")
    assert cache.find(SIBLING, NO_ACCOUNT, 1) == entries("Registry")
    assert cache.find(STRANGER, NO_ACCOUNT, 1) == entries("Global")


@pytest.mark.parametrize(
    "other",
    [
        NO_ACCOUNT,
        Account("other", "sa", "uid-1", MINE.annotations),
        Account("ns", "other", "uid-1", MINE.annotations),
        Account("ns", "sa", "uid-2", MINE.annotations),
        Account("ns", "sa", "uid-1", (("role", "b"),)),
        Account("ns", "sa", "uid-1", MINE.annotations, "digest"),
    ],
)
def test_an_answer_for_one_account_is_not_given_to_another(other: Account) -> None:
    cache = ProviderCache()
    cache.store(IMAGE, MINE, ProviderAnswer(CacheScope.GLOBAL, 10, entries("a")), now_ns=0)
    assert cache.find(IMAGE, MINE, 1) == entries("a")
    assert cache.find(IMAGE, other, 1) is None


def test_an_answer_for_no_time_is_not_kept() -> None:
    cache = ProviderCache()
    cache.store(IMAGE, NO_ACCOUNT, ProviderAnswer(CacheScope.GLOBAL, 0, entries("a")), now_ns=0)
    assert len(cache) == 0


def test_the_cache_is_bounded_and_drops_the_oldest_answer_first() -> None:
    cache, long = ProviderCache(), "a" * (LONGEST_BYTES // 2)
    enough = KEPT_BYTES // len(long)
    for number in range(enough + 1):
        answer = ProviderAnswer(CacheScope.IMAGE, 10, entries(f"{number}{long}"))
        cache.store(f"r.io/{number}", NO_ACCOUNT, answer, now_ns=0)
    assert enough // 2 < len(cache) <= enough
    assert cache.find("r.io/0", NO_ACCOUNT, 1) is None
    assert cache.find(f"r.io/{enough}", NO_ACCOUNT, 1) is not None
    cache.purge(11)
    assert len(cache) == 0


def test_an_answer_as_long_as_a_program_may_print_is_not_kept() -> None:
    cache = ProviderCache()
    answer = ProviderAnswer(CacheScope.GLOBAL, 10, entries("a" * 2**20))
    cache.store(IMAGE, NO_ACCOUNT, answer, now_ns=0)
    assert cache.find(IMAGE, NO_ACCOUNT, 1) is None


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, None),
        ({"zone": "z"}, None),
        ({"role": ""}, (("role", ""),)),
        ({"zone": "z", "role": "r", "other": "o"}, (("role", "r"), ("zone", "z"))),
    ],
)
def test_an_account_without_a_required_annotation_does_without_the_program(
    annotations: dict[str, str], expected: tuple[tuple[str, str], ...] | None
) -> None:
    assert annotations_for(("role",), ("zone",), annotations) == expected
