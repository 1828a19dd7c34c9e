"""A long list, asked for page by page.

Owns the following of `continue`. A continue token lives for some minutes; when the server has forgotten it (410) the
list is asked for once more in one piece, as nobody can say what was missed between two halves of different ages.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic

from config.api.resources import Resource
from runtime.api.calls import ApiCall, K, ObjectList, list_objects
from runtime.api.capability import Api
from runtime.api.errors import ApiError
from runtime.io.pending import Pending

PAGE_SIZE = 500


def list_all(
    api: Api,
    resource: Resource[K],
    namespace: str = "",
    *,
    field_selector: str = "",
    label_selector: str = "",
    resource_version: str = "",
    page_size: int = PAGE_SIZE,
    timeout_ns: int | None = None,
) -> Pending[ObjectList[K]]:
    """Everything that matches, as of the resourceVersion of the first page. `timeout_ns` is for each page.

    Fails with ApiError. Cancelling it cancels the page that is asked for.
    """

    def page(limit: int, continue_: str) -> ApiCall[ObjectList[K]]:
        return list_objects(
            resource,
            namespace,
            field_selector=field_selector,
            label_selector=label_selector,
            # A page that goes on is of the age of the first one; saying more is an error.
            resource_version="" if continue_ else resource_version,
            limit=limit,
            continue_=continue_,
        )

    pages = _Pages(api, page, page_size, timeout_ns)
    pages.ask(page_size, "")
    return pages


class _Pages(Future[ObjectList[K]], Generic[K]):
    """The whole list, while its pages come in one after the other."""

    def __init__(
        self,
        api: Api,
        page: Callable[[int, str], ApiCall[ObjectList[K]]],
        page_size: int,
        timeout_ns: int | None,
    ) -> None:
        super().__init__()
        self._api = api
        self._page = page
        self._page_size = page_size
        self._timeout_ns = timeout_ns
        self._items: list[K] = []
        self._asked: Pending[ObjectList[K]] | None = None

    def ask(self, limit: int, continue_: str) -> None:
        self._asked = asked = self._api.call(self._page(limit, continue_), timeout_ns=self._timeout_ns)
        asked.add_done_callback(lambda answer: self._came(answer, continue_))
        if self.cancelled():
            asked.cancel()

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled and self._asked is not None:
            self._asked.cancel()
        return cancelled

    def _came(self, answer: Any, continue_: str) -> None:
        if self.cancelled():
            return
        if answer.cancelled():
            self.cancel()
            return
        error = answer.exception(0)
        if error is None:
            self._add(answer.result(0))
        elif continue_ and isinstance(error, ApiError) and error.expired:
            self._items.clear()
            self.ask(0, "")
        elif self.set_running_or_notify_cancel():
            self.set_exception(error)

    def _add(self, page: ObjectList[K]) -> None:
        self._items.extend(page.items)
        if page.continue_:
            self.ask(self._page_size, page.continue_)
        elif self.set_running_or_notify_cancel():
            self.set_result(ObjectList(tuple(self._items), page.resource_version))
