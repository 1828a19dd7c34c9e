"""`TrustBundlesActor`: large questions share what they get, and do not hold up small ones."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest

from actors.cluster.trust_bundles import TrustBundlesActor
from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.references import ReadTrustBundles, TrustBundlesChanged, TrustBundlesRead, TrustWant
from config.api.selectors import parse_label_selector
from config.objects import ClusterTrustBundle, ClusterTrustBundleSpec, ObjectMeta
from runtime.api import ObjectList
from tests.actors.manual_api import ManualApi
from tests.actors.recorders import Recorder

SIGNER = "example.com/mesh"


def bundle(number: int) -> ClusterTrustBundle:
    text = ssl.DER_cert_to_PEM_cert(b"%d" % number * 100)
    meta = ObjectMeta(name=f"b{number}", labels={"live": "yes"})
    return ClusterTrustBundle(metadata=meta, spec=ClusterTrustBundleSpec(signer_name=SIGNER, trust_bundle=text))


@pytest.fixture
def answers() -> Iterator[list[TrustBundlesRead]]:
    """To a pod with 3,000 wants that each select all bundles, and to a small one that asks later."""
    api, dispatcher = ManualApi(), SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    volumes, _ = Recorder.spawn_in(system, "volumes", TrustBundlesChanged)
    reader, heard = Recorder.spawn_in(system, "reader", TrustBundlesRead)
    actor = system.spawn(TrustBundlesActor, api, volumes, name="trust-bundles")
    wants = tuple(
        TrustWant(signer_name=SIGNER, labels=parse_label_selector(f"dead!={number}")) for number in range(3_000)
    )
    actor.tell(ReadTrustBundles(reader, "large", wants))
    actor.tell(ReadTrustBundles(reader, "small", (TrustWant(name="b1"),)))
    dispatcher.run_for(0)
    api.answer(ObjectList(tuple(bundle(number) for number in range(5)), "1"))
    dispatcher.run_for(0)
    yield heard
    assert system.stop()


def test_a_question_with_thousands_of_wants_lets_others_have_their_turn(answers: list[TrustBundlesRead]) -> None:
    assert [each.tag for each in answers] == ["small", "large"]
    assert answers[0].anchors[TrustWant(name="b1")] == ssl.DER_cert_to_PEM_cert(b"1" * 100).encode()


def test_wants_for_the_same_bundles_share_one_content(answers: list[TrustBundlesRead]) -> None:
    contents = list(answers[1].anchors.values())
    assert len(contents) == 3_000
    assert {id(each) for each in contents} == {id(contents[0])}
