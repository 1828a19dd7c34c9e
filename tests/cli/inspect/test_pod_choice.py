"""Which pod a person means."""

from __future__ import annotations

import pytest

from actors.messages.history import KnownPod
from actors.messages.pods import SourceProblem
from cli.inspect.pod_choice import NoSuchPodError, choose, refusals_of

WEB = KnownPod("u1", "shop", "web", gone=False)
WEB_BEFORE = KnownPod("u0", "shop", "web", gone=True)
WEB_OF_OTHERS = KnownPod("u2", "other", "web", gone=False)
STATIC = KnownPod("u3", "kube-system", "proxy-node-1", gone=False)
DATABASE = KnownPod("u4", "shop", "database", gone=False)


@pytest.mark.parametrize(
    ("wanted", "known", "chosen"),
    [
        ("web", (WEB, DATABASE), WEB),
        ("shop/web", (WEB, WEB_OF_OTHERS), WEB),
        ("u2", (WEB, WEB_OF_OTHERS), WEB_OF_OTHERS),
        ("proxy", (WEB, STATIC), STATIC),
        ("kube-system/proxy-node-1", (WEB, STATIC), STATIC),
        ("web", (WEB_BEFORE, WEB), WEB),
        ("web", (WEB_BEFORE, KnownPod("u5", "shop", "web", gone=True)), KnownPod("u5", "shop", "web", gone=True)),
        ("u0", (WEB_BEFORE, WEB), WEB_BEFORE),
    ],
    ids=[
        "name",
        "namespace",
        "uid",
        "static",
        "static in full",
        "the living one",
        "the last one gone",
        "one that is gone",
    ],
)
def test_a_pod_is_chosen_by_its_name(wanted: str, known: tuple[KnownPod, ...], chosen: KnownPod):
    assert choose(wanted, known, "node-1") == chosen


@pytest.mark.parametrize(
    ("wanted", "known", "text"),
    [
        ("web", (), "there is no pod web: the agent knows no pod at all"),
        ("wbe", (WEB, DATABASE), "there is no pod wbe; did you mean shop/web?"),
        ("proxi", (WEB, STATIC), "there is no pod proxi; did you mean kube-system/proxy-node-1?"),
        ("data", (WEB, DATABASE), "there is no pod data; did you mean shop/database?"),
        ("other/web", (WEB,), "there is no pod other/web; did you mean shop/web?"),
        ("zzz", (WEB, DATABASE), "there is no pod zzz among the 2 that the agent knows; `actorlet pods` lists them"),
        (
            "web",
            (WEB, WEB_OF_OTHERS),
            "several pods are called web: shop/web, other/web; name one of them with its namespace",
        ),
        (
            "web",
            (WEB, KnownPod("u6", "shop", "web", gone=False)),
            "web has lived more than once, and more than one life goes on: name a UID, u1, u6",
        ),
    ],
    ids=[
        "no pods",
        "typo",
        "static typo",
        "beginning",
        "wrong namespace",
        "nothing like it",
        "several namespaces",
        "two lives",
    ],
)
def test_an_unknown_or_ambiguous_pod_name_is_refused(wanted: str, known: tuple[KnownPod, ...], text: str):
    with pytest.raises(NoSuchPodError) as caught:
        choose(wanted, known, "node-1")
    assert str(caught.value) == text


TORN = SourceProblem("file", "/m/torn.yaml:3", "$", "is not YAML")
BROKEN = SourceProblem("file", "/m/a.yaml:4", "$.spec", "is wrong", pods=("shop/web", "shop/db"))
ODD = SourceProblem("file", "/m/torn.yaml", "$.x", "is not known", fatal=False)


@pytest.mark.parametrize(
    ("wanted", "refusals"),
    [
        ("web", (BROKEN,)),
        ("web-node-1", (BROKEN,)),
        ("shop/db", (BROKEN,)),
        ("other/db", ()),
        ("torn", (TORN,)),
        ("a", ()),
    ],
    ids=["name", "name with node", "with namespace", "another namespace", "file", "a file whose pods are known"],
)
def test_a_refused_manifest_is_found(wanted: str, refusals: tuple[SourceProblem, ...]) -> None:
    assert refusals_of(wanted, (TORN, BROKEN, ODD), "node-1") == refusals
