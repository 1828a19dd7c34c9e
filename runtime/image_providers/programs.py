"""`LocalImageProviders`: runs the programs of `--image-credential-provider-bin-dir`.

Each request is one process.

A program has a minute. It ends with its children; one that prints without end is ended, and what cannot be read is no
answer. What it complains of is kept without what it was given and what it has printed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from config.credentials.image_providers import ImageProvider
from config.credentials.masked import masked
from config.credentials.provider_answers import ProviderAnswer, ProviderAnswerError, read_answer, request_document
from runtime.image_providers.capability import ProviderFailedError, ProviderRequest
from runtime.io.event_loop import LoopThread
from runtime.io.pending import PendingAnswer
from runtime.io.programs import Ended, Limits, ProgramCutShortError, run_to_end
from runtime.metrics.kubelet import CREDENTIAL_PROVIDER_DURATION, CREDENTIAL_PROVIDER_ERRORS
from runtime.metrics.meters import UNMEASURED, Meters

COMPLAINT_CHARACTERS = 1000
LIMITS = Limits(seconds=60.0, output_bytes=1024 * 1024, complaint_bytes=4 * COMPLAINT_CHARACTERS)


class LocalImageProviders:
    """See the module.

    `environment`: what every program sees besides its own variables.
    """

    def __init__(
        self,
        known: tuple[ImageProvider, ...],
        directory: str,
        loop: LoopThread,
        meters: Meters = UNMEASURED,
        limits: Limits = LIMITS,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.known = known
        self._directory = directory
        self._loop = loop
        self._meters = meters
        self._limits = limits
        self._environment = environment

    def ask(self, provider: ImageProvider, request: ProviderRequest) -> PendingAnswer[ProviderAnswer]:
        return self._loop.submit(self._answer(provider, request))

    async def _answer(self, provider: ImageProvider, request: ProviderRequest) -> ProviderAnswer:
        about = f"credential provider {provider.name} for {request.image}"
        ended = await self._ended(provider, request, about)
        complaint = _complaint(provider, request, ended)
        if ended.status:
            raise self._failed(provider, f"{about}: exit status {ended.status}", complaint)
        try:
            return read_answer(provider, ended.output, request.token)
        except ProviderAnswerError as error:
            raise ProviderFailedError(f"{about}: its answer cannot be used: {error}", complaint) from None

    async def _ended(self, provider: ImageProvider, request: ProviderRequest, about: str) -> Ended:
        program = os.path.join(self._directory, provider.name)
        words = [program, *provider.args]
        environment = {**self._environment, **dict(provider.env)}
        document = request_document(provider, request.image, request.token, request.annotations)
        began_ns = time.monotonic_ns()
        try:
            return await run_to_end(words, environment, self._limits, fed=document)
        except ProgramCutShortError as error:
            complaint = _complaint(provider, request, error.ended)
            raise self._failed(provider, f"{about}: the program {error}", complaint) from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise self._failed(provider, f"{about}: the program cannot be run: {reason}") from None
        finally:
            self._meters.took(CREDENTIAL_PROVIDER_DURATION, time.monotonic_ns() - began_ns, provider.name)

    def _failed(self, provider: ImageProvider, reason: str, complaint: str = "") -> ProviderFailedError:
        self._meters.count(CREDENTIAL_PROVIDER_ERRORS, provider.name)
        return ProviderFailedError(reason, complaint)


def _complaint(provider: ImageProvider, request: ProviderRequest, ended: Ended) -> str:
    """The end of its standard error in one line, without secrets."""
    printed = ended.output.decode(errors="replace").strip()
    secrets = (request.token, printed, *provider.args, *(value for _, value in provider.env))
    return " ".join(masked(ended.complaints.decode(errors="replace"), secrets).split())[-COMPLAINT_CHARACTERS:]
