"""Conversions of custom objects by webhooks, in the words of Kubernetes.

A request never waits: if a conversion is not known, `Conversions.convert` raises `ConversionWantedError`. The caller
then asks the webhook, lets `learn` take the answer, and begins the request again. Who cannot ask does not say `asking`,
and gets a FailedConversionError. A webhook changes all but the metadata, of which it may change labels and annotations.
So a conversion is known by what it depends on: the same object with another `resourceVersion` needs none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec

from config.caches import MIB, KeptBytes

Json: TypeAlias = dict[str, Any]
GROUP = "apiextensions.k8s.io"
REVIEW_VERSIONS = ("v1", "v1beta1")
SECONDS = 30
"""How long a kube-apiserver waits for an answer."""
KNOWN_BYTES = 64 * MIB
LONGEST_BYTES = 24 * MIB
"""More than an object and the longest answer of a webhook."""
_NOBODY_ASKS = "webhooks are called for requests over HTTP alone, and this one comes from the same process"
_OWN = ("labels", "annotations")
_IDENTITY = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))

_encode = msgspec.json.Encoder(order="sorted").encode


class ConversionWantedError(Exception):
    """A webhook must convert these objects first. `webhook`: as in the definition."""

    def __init__(self, webhook: Json, objects: list[Json], api_version: str) -> None:
        super().__init__(api_version)
        self.webhook, self.objects, self.api_version = webhook, objects, api_version

    def review(self, uid: str) -> Json:
        """The ConversionReview. Raises ValueError if the webhook takes no version of it that is known here."""
        known = [each for each in self.webhook.get("conversionReviewVersions") or () if each in REVIEW_VERSIONS]
        if not known:
            raise ValueError("no supported conversion review versions")
        request = {"uid": uid, "desiredAPIVersion": self.api_version, "objects": self.objects}
        return {"kind": "ConversionReview", "apiVersion": f"{GROUP}/{known[0]}", "request": request}

    def failed(self, why: str) -> str:
        """What a client is told."""
        return f"conversion webhook for {_kind_of(self.objects[0])} failed: {why}"


class FailedConversionError(Exception):
    """The webhook has not converted an object; the text says why."""


class Conversions:
    """The newest conversions."""

    def __init__(self) -> None:
        self._known: KeptBytes[bytes, Json] = KeptBytes(KNOWN_BYTES, LONGEST_BYTES)
        self._failures: dict[bytes, str] = {}
        self._asks = False

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Within it, somebody asks webhooks for what is wanted."""
        before, self._asks = self._asks, True
        try:
            yield
        finally:
            self._asks = before

    def convert(self, webhook: Json, values: Sequence[Json], api_version: str) -> list[Json]:
        """The objects in that version, with metadata of their own.

        Raises ConversionWantedError for all that are not known, and once FailedConversionError for one that has failed.
        """
        found: list[Json] = []
        wanted: list[Json] = []
        for value in values:
            key = _key(value, api_version)
            if key in self._failures:
                raise FailedConversionError(self._failures.pop(key))
            known = value if value["apiVersion"] == api_version else self._find(key)
            if known is None:
                wanted.append(value)
            else:
                found.append({**known, "metadata": _restored(value["metadata"], known["metadata"])})
        if wanted:
            missing = ConversionWantedError(webhook, wanted, api_version)
            raise missing if self._asks else FailedConversionError(missing.failed(_NOBODY_ASKS))
        return found

    def _find(self, key: bytes) -> Json | None:
        try:
            return self._known[key]
        except KeyError:
            return None

    def learn(self, wanted: ConversionWantedError, converted: Sequence[Json]) -> None:
        """Take the objects of an answer, in the order of the question."""
        for value, made in zip(wanted.objects, converted, strict=True):
            key = _key(value, wanted.api_version)
            self._known.keep(key, made, len(key) + len(_encode(made)))

    def fail(self, wanted: ConversionWantedError, why: str) -> None:
        """Let the next attempt fail, and only that: a webhook may get well."""
        self._failures[_key(wanted.objects[0], wanted.api_version)] = why


def converted_of(wanted: ConversionWantedError, review: Json, answer: Any) -> list[Json]:
    """The objects in an answer. Raises FailedConversionError."""
    response = _response(wanted, review, answer)
    result = response.get("result") or {}
    if result.get("status") != "Success":
        status = result.get("status", "")
        why = result.get("message") or f"response.result.status was '{status}', not 'Success'"
        raise FailedConversionError(wanted.failed(why))
    objects = response.get("convertedObjects") or []
    kind = _kind_of(wanted.objects[0])
    if len(objects) != len(wanted.objects):
        raise FailedConversionError(
            f"conversion webhook for {kind} returned {len(objects)} objects, expected {len(wanted.objects)}"
        )
    for at, (before, after) in enumerate(zip(wanted.objects, objects, strict=True)):
        if fault := _fault(wanted, at, before, after):
            raise FailedConversionError(f"conversion webhook for {kind} returned {fault}")
    return objects


def _response(wanted: ConversionWantedError, review: Json, answer: Any) -> Json:
    told = answer if isinstance(answer, dict) else {}
    response = told.get("response")
    if review["apiVersion"] == f"{GROUP}/v1":
        said = (told.get("apiVersion", ""), told.get("kind", ""))
        if said != (review["apiVersion"], review["kind"]):
            group, _, version = str(said[0]).rpartition("/")
            expected = f"{GROUP}/v1, Kind=ConversionReview"
            why = f"expected webhook response of {expected}, got {group}/{version}, Kind={said[1]}"
            raise FailedConversionError(wanted.failed(why))
        uid = review["request"]["uid"]
        if isinstance(response, dict) and response.get("uid") != uid:
            why = f'expected response.uid="{uid}", got "{response.get("uid", "")}"'
            raise FailedConversionError(wanted.failed(why))
    if not isinstance(response, dict):
        raise FailedConversionError(wanted.failed("no response provided"))
    return response


def _fault(wanted: ConversionWantedError, at: int, before: Json, after: Any) -> str:
    """What is wrong with a converted object, or ""."""
    where = f"invalid object at index {at}" if len(wanted.objects) == 1 else f"invalid converted object at index {at}"
    if not isinstance(after, dict):
        return f"{where}: it is no object"
    if after.get("apiVersion") != wanted.api_version:
        return f"{where}: invalid groupVersion (expected {wanted.api_version}, received {after.get('apiVersion', '')})"
    if after.get("kind") != before["kind"]:
        return f"{where}: invalid kind (expected {before['kind']}, received {after.get('kind', '')})"
    metadata = after.get("metadata")
    if metadata is None:
        return "invalid metadata: missing metadata in converted object"
    where = "invalid object" if len(wanted.objects) == 1 else where
    if not isinstance(metadata, dict):
        return f"{where}: its metadata are no object"
    for field, name in _IDENTITY:
        was, now = before["metadata"].get(field, ""), metadata.get(field, "")
        if was != now:
            return f"{where}: must have the same {name}: {was} != {now}"
    for field in _OWN:
        texts = metadata.get(field) or {}
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            return f"invalid metadata: invalid metadata.{field} in converted object: each value must be a string"
    return ""


def _kind_of(value: Json) -> str:
    return f"{value['apiVersion']}, Kind={value['kind']}"


def _restored(before: Json, converted: Json) -> Json:
    """The metadata of the original, with the labels and annotations that the webhook has made."""
    metadata = {name: part for name, part in before.items() if name not in _OWN}
    return metadata | {name: converted[name] for name in _OWN if converted.get(name)}


def _key(value: Json, api_version: str) -> bytes:
    """What a conversion depends on."""
    metadata = value["metadata"]
    named = {name: metadata.get(name) for name in ("name", "namespace", "uid", *_OWN)}
    return _encode([api_version, {**value, "metadata": named}])
