"""Custom kinds whose versions a webhook converts.

Nothing waits here: what is not converted yet raises ConversionWantedError, and the front begins the request again. A
write asks for both ways before it stores, so that its answer is known and nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.status import Json, StatusError
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.described import DescribedStrategy
from simulation.webhooks.conversions import FailedConversionError


class ConvertedStrategy(DescribedStrategy):
    """`webhook`: as `spec.conversion` of the definition has it."""

    def __init__(self, core: Core, api_version: str, webhook: Json) -> None:
        super().__init__(core, api_version)
        self._webhook = webhook

    def ready(self, resource: ServedResource, versions: Sequence[Version]) -> None:
        self.converted([one.object for one in versions], resource.api_version)

    def converted(self, values: Sequence[Json], api_version: str) -> Sequence[Json]:
        """Raises ConversionWantedError, StatusError (500)."""
        if all(value["apiVersion"] == api_version for value in values):
            return values
        try:
            return self.core.conversions.convert(self._webhook, values, api_version)
        except FailedConversionError as failure:
            raise StatusError(500, "", str(failure)) from None

    def stored(self, resource: ServedResource, value: Json) -> Json:
        stored = self.converted([value], self._api_version)[0]
        self.converted([stored], resource.api_version)
        return stored
