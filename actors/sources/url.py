"""Static pods from a URL (spec 1.1).

See `actors.sources.static` for what all sources of manifests share.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import ClassVar

from actors.kernel import ActorRef, DeadlineExceededError, LaneExhaustedError
from actors.messages.pods import SourceProblem
from actors.sources.static import READING_LIMIT_NS, SECOND_NS, Decode, SourceActor, problems_of
from config.credentials.masked_urls import masked_url
from config.manifests import ReadManifest
from config.pods.identity import SOURCE_HTTP
from runtime.manifests.url import ManifestAnswer, ManifestFetchError, ManifestServer

GIVE_UP_NS = 30 * SECOND_NS
"""For a server capability that does not keep its own deadline."""
LOUD_FAILURES = 3


class HttpSourceActor(SourceActor):
    """Asks a URL every `httpCheckFrequency`.

    Any answer but 200 is an error and changes nothing; so is an invalid document. An empty answer is an error too, but
    means that there are no pods. A server that is down is logged three times, and then a last time with the notice that
    it is not logged any more.
    """

    source: ClassVar[str] = SOURCE_HTTP

    def __init__(
        self,
        storage: ActorRef,
        server: ManifestServer,
        url: str,
        headers: Mapping[str, Sequence[str]],
        period_ns: int,
        decode: Decode,
    ) -> None:
        super().__init__(storage, period_ns, decode)
        self._server = server
        self._url = url
        self._shown = masked_url(url)
        self._headers = headers
        self._body: bytes | None = None
        self._in_document: tuple[SourceProblem, ...] = ()
        self._failures = 0

    async def read(self) -> None:
        call = self._server.get(self._url, self._headers)
        try:
            answer = await self.wait(call, timeout_ns=GIVE_UP_NS, what=f"the manifest at {self._shown}")
        except (ManifestFetchError, DeadlineExceededError) as failure:
            self._failed(f"cannot be fetched: {failure}")
        else:
            await self._answered(answer)

    async def _answered(self, answer: ManifestAnswer) -> None:
        if answer.status != 200:
            self._failed(f"cannot be fetched: the server answers with status {answer.status}")
        elif not answer.body:
            self._body, self._pods, self._in_document = b"", (), ()
            self._failed("the answer is empty; no pod is desired")
        else:
            self._failures = 0
            if answer.body != self._body:
                try:
                    manifest = await self._decoded(answer.body)
                except (DeadlineExceededError, LaneExhaustedError) as failure:
                    self._failed(f"cannot be read: {failure}")
                    return
                self._body = answer.body
                self._in_document = problems_of(self.source, manifest)
                if not manifest.errors:
                    self._pods = manifest.pods
            self.show(*self._in_document)

    def _decoded(self, body: bytes) -> Awaitable[ReadManifest]:
        """Decode a manifest on a lane: it may be long, and YAML takes its time."""
        lane = self.lane("manifest-url", size=1, per_key=1)
        call = lane.submit(self.path, self._decode, body, self._url, deadline_ns=READING_LIMIT_NS)
        return self.wait(call, what=f"the manifest at {self._shown}")

    def _failed(self, reason: str) -> None:
        self._failures += 1
        problem = SourceProblem(self.source, self._shown, "", reason)
        if 1 < self._failures <= LOUD_FAILURES:  # `show` logs the first as a new problem
            self.log.info("%s", problem)
        elif self._failures == LOUD_FAILURES + 1:
            self.log.info("%s; failed %d times, no longer logged", problem, self._failures)
        elif self._failures > LOUD_FAILURES:
            self.log.debug("%s", problem)
        self.show(problem)
