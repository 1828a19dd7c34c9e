"""`TrustBundlesActor`: the ClusterTrustBundles of the cluster, for projected volumes (spec 13.3).

It is there with the feature gate ClusterTrustBundleProjection. It follows the bundles from the first question on, so a
node whose pods want none asks nothing of the API server. A question waits a few seconds for the first list. What is
known is served on while the API server is away.

A question is answered in slices (`PodJobs`). Wants that are for the same bundles share one content.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import repeat
from typing import Any, ClassVar

from actors.cluster.list_watch import Follower
from actors.cluster.pod_jobs import PodJobs
from actors.cluster.trust_rules import NoAnchorsError, TrustBundle, anchors_of, bundle_of, matching
from actors.kernel import ActorRef, Message, handles, part
from actors.messages.references import ReadTrustBundles, TrustBundlesChanged, TrustBundlesRead, TrustWant
from config.api.resources import CLUSTER_TRUST_BUNDLES
from config.frozen_map import FrozenMap
from runtime.api import Api, ApiError

SECOND_NS = 1_000_000_000
FIRST_ANSWER_NS = 5 * SECOND_NS
BUNDLES = "bundles"
STEP_BYTES = 10_000
"""Content that is made in a step of a slice."""


class TrustAnswerDue(Message, frozen=True):
    """To itself: answer this question now, even without a list."""

    number: int


class TrustBundlesActor(Follower):
    """See the module. `volumes`: told when bundles have changed."""

    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS
    jobs = part(PodJobs)

    def __init__(self, api: Api, volumes: ActorRef) -> None:
        super().__init__(api)
        self.jobs = PodJobs(self)
        self._volumes = volumes
        self._bundles: dict[str, TrustBundle] | None = None
        """By name; None before the first list."""
        self._salt = repr(self.chance.random()).encode()
        self._trouble = "the API server has not answered yet"
        self._waiting: dict[int, ReadTrustBundles] = {}
        self._asked = 0

    def on_start(self) -> None:
        self._volumes.tell(TrustBundlesChanged())  # an earlier life's questions are lost

    @handles(ReadTrustBundles)
    def read_trust_bundles(self, question: ReadTrustBundles) -> None:
        """Work: a slice; one step for each want and for each `STEP_BYTES`."""
        self._asked += 1
        if self._bundles is not None:
            self._answer(self._asked, question)
            return
        if not self.follows(BUNDLES):
            self.follow(BUNDLES, CLUSTER_TRUST_BUNDLES)
        self._waiting[self._asked] = question
        self.after(FIRST_ANSWER_NS, TrustAnswerDue(self._asked), key=self._asked)

    @handles(TrustAnswerDue)
    def trust_answer_due(self, message: TrustAnswerDue) -> None:
        """Work: a slice; one step for each bundle that is wanted."""
        question = self._waiting.pop(message.number, None)
        if question is not None:
            self._answer(message.number, question)

    def _answer(self, number: int, question: ReadTrustBundles) -> None:
        self.jobs.do(f"question {number}", self._find_all(question))

    def _find_all(self, question: ReadTrustBundles) -> Iterator[None]:
        anchors: dict[TrustWant, bytes] = {}
        failures: dict[TrustWant, str] = {}
        made: dict[tuple[str, ...], bytes] = {}
        """By the names of the bundles."""
        for want in question.wants:
            try:
                known = self._known()
                names = matching(want, known)
            except NoAnchorsError as error:
                failures[want] = str(error)
                yield
                continue
            if names not in made:
                made[names] = anchors_of((known[name] for name in names), self._salt)
                yield from repeat(None, len(made[names]) // STEP_BYTES)
            anchors[want] = made[names]
            yield
        question.reader.tell(TrustBundlesRead(question.tag, FrozenMap(anchors), FrozenMap(failures)))

    def _known(self) -> dict[str, TrustBundle]:
        if self._bundles is None:
            raise NoAnchorsError(f"ClusterTrustBundles cannot be listed: {self._trouble}")
        return self._bundles

    # --- following --------------------------------------------------------------------------------------------------

    def listed(self, key: Hashable, objects: tuple[Any, ...]) -> None:
        self._bundles = {each.metadata.name: bundle_of(each) for each in objects}
        for number, question in list(self._waiting.items()):
            self.cancel_timer(number)
            self._answer(number, question)
        self._waiting.clear()
        self._volumes.tell(TrustBundlesChanged())

    def changed(self, key: Hashable, event_type: str, value: Any) -> None:
        if self._bundles is None:
            return
        if event_type == "DELETED":
            self._bundles.pop(value.metadata.name, None)
        else:
            self._bundles[value.metadata.name] = bundle_of(value)
        self._volumes.tell(TrustBundlesChanged())

    def failing(self, key: Hashable, error: ApiError) -> None:
        self._trouble = str(error)
