"""A client for the sample operator: the standard library only, so that a process starts in a moment."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import ssl
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]


class ApiError(Exception):
    """A refusal (`code` of HTTP), or no answer (0)."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code} {text}")
        self.code = code


class Api:
    """Of the cluster in `KUBECONFIG`. Each thread has a connection of its own."""

    def __init__(self) -> None:
        with open(os.environ["KUBECONFIG"]) as file:
            text = file.read()
        self._server = urlsplit(_field(text, "server"))
        self._token = _field(text, "token")
        authority = base64.b64decode(_field(text, "certificate-authority-data")).decode()
        self._tls = ssl.create_default_context(cadata=authority)
        self._own = threading.local()

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """Raises ApiError."""
        connection = self._connection()
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, self._headers(method))
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._own.connection = None
            raise ApiError(0, repr(error)) from None
        if answer.status >= 400:
            raise ApiError(answer.status, text.decode()[:200])
        answered: Json = json.loads(text)
        return answered

    def events(self, path: str) -> Iterator[Json]:
        """The events of a watch, until it ends. Raises ApiError."""
        connection = self._new()
        try:
            connection.request("GET", path, None, self._headers("GET"))
            answer = connection.getresponse()
            if answer.status >= 400:
                raise ApiError(answer.status, answer.read().decode()[:200])
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(event["object"]["code"], event["object"]["message"])
                yield event
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(0, repr(error)) from None
        finally:
            connection.close()

    def _headers(self, method: str) -> dict[str, str]:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return {"Authorization": f"Bearer {self._token}", "Content-Type": kind, "User-Agent": "shop-operator"}

    def _connection(self) -> http.client.HTTPSConnection:
        found = getattr(self._own, "connection", None)
        if found is None:
            found = self._own.connection = self._new()
        return found

    def _new(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._server.hostname or "", self._server.port, context=self._tls)


def _field(text: str, name: str) -> str:
    found = re.search(rf"{name}: *(\S+)", text)
    return found[1].strip("'\"") if found else ""
