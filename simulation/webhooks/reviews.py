"""The reviews for webhooks, and the meaning of their answers, in the words of Kubernetes. Pure.

A request never waits: if a verdict is missing, `Admission.verdict` raises `ReviewWantedError`. The caller then asks the
webhook, adds the verdict to `Admission`, and begins the request again.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from simulation.webhooks.matching import Asked, Webhook, concerns

Json = dict[str, Any]
API_VERSION = "admission.k8s.io/v1"
MUTATING, VALIDATING = "mutating", "validating"
_BAD_REQUEST = {"reason": "BadRequest"}
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


class Verdict(msgspec.Struct, frozen=True):
    """An answer. `patch`: operations of a JSON patch. `failure`: why there is no answer, else ""."""

    allowed: bool = True
    status: Json = {}
    patch: tuple[Json, ...] = ()
    warnings: tuple[str, ...] = ()
    failure: str = ""


class ReviewWantedError(Exception):
    """A webhook must be asked first. `key`: where its verdict goes. `request` has no uid yet."""

    def __init__(self, key: tuple[str, ...], webhook: Webhook, request: Json) -> None:
        super().__init__(key)
        self.key, self.webhook, self.request = key, webhook, request


class RefusedError(Exception):
    """A request refused by a webhook, or for lack of its answer. `status`: that of the webhook."""

    def __init__(self, code: int, message: str, status: Json) -> None:
        super().__init__(code, message)
        self.code, self.message, self.status = code, message, status


class Admission(msgspec.Struct):
    """The verdicts of webhooks on a request so far.

    `metadata`: the fields of its new object that stay the same in all attempts.
    """

    verdicts: dict[tuple[str, ...], Verdict] = {}
    metadata: Json = {}

    def keep(self, metadata: Json) -> None:
        """Give the new object the name, the UID and the creation time of the first attempt."""
        for name in ("name", "uid", "creationTimestamp"):
            metadata[name] = self.metadata.setdefault(name, metadata[name])

    def verdict(self, stage: str, webhook: Webhook, asked: Asked, again: bool = False) -> Verdict:
        """The verdict of a webhook; a webhook that the request does not concern allows it.

        `again`: the webhook is asked for the second time, about an object that has changed since.

        Raises ReviewWantedError, RefusedError.
        """
        if not concerns(webhook.fields, asked):
            return Verdict()
        if asked.dry_run and webhook.fields.get("sideEffects") not in ("None", "NoneOnDryRun"):
            raise RefusedError(400, f'admission webhook "{webhook.name}" does not support dry run', _BAD_REQUEST)
        before = (asked.old or {}).get("metadata") or {}
        key = (stage, webhook.key, _name_of(asked), before.get("resourceVersion", ""), "again" if again else "")
        verdict = self.verdicts.get(key)
        if verdict is None:
            raise ReviewWantedError(key, webhook, _request_of(asked))
        if verdict.failure and not webhook.fails_open:
            text = f'Internal error occurred: failed calling webhook "{webhook.name}": {verdict.failure}'
            raise RefusedError(500, text, {"reason": "InternalError"})
        if not verdict.failure and not verdict.allowed:
            raise _denied(webhook, verdict.status)
        return verdict


def _denied(webhook: Webhook, status: Json) -> RefusedError:
    code, said = status.get("code"), status.get("message") or status.get("reason")
    by = f'admission webhook "{webhook.name}" denied the request'
    number = code if isinstance(code, int) and code >= 400 else 400
    return RefusedError(number, f"{by}: {said}" if said else f"{by} without explanation", status)


def _name_of(asked: Asked) -> str:
    """The name of the object; empty while it is not generated."""
    return asked.name or str(asked.objects[0]["metadata"].get("name") or "")


def _request_of(asked: Asked) -> Json:
    """The request of an AdmissionReview, without its uid."""
    version = {"group": asked.group, "version": asked.version}
    group, number, name = asked.body_kind or (asked.group, asked.version, asked.kind)
    kind, resource = {"group": group, "version": number, "kind": name}, {**version, "resource": asked.plural}
    options = _OPTIONS.get(asked.operation)
    return {
        "kind": kind,
        "requestKind": kind,
        "resource": resource,
        "requestResource": resource,
        **({"subResource": asked.part, "requestSubResource": asked.part} if asked.part else {}),
        "name": _name_of(asked),
        **({"namespace": asked.namespace} if asked.namespace else {}),
        "operation": asked.operation,
        "userInfo": asked.user,
        "object": asked.new,
        "oldObject": asked.old,
        "dryRun": asked.dry_run,
        "options": {"kind": options, "apiVersion": "meta.k8s.io/v1"} if options else None,
    }


def review_of(uid: str, request: Json) -> Json:
    """The AdmissionReview of a request."""
    return {"kind": "AdmissionReview", "apiVersion": API_VERSION, "request": {"uid": uid, **request}}


def verdict_of(answer: Any, uid: str, mutates: bool) -> Verdict:
    """The verdict in an answer. Raises ValueError if it is no valid answer to that review."""
    if not isinstance(answer, dict) or answer.get("apiVersion") != API_VERSION:
        raise ValueError(f"expected response.apiVersion={API_VERSION!r}, kind='AdmissionReview'")
    response = answer.get("response")
    if not isinstance(response, dict):
        raise ValueError("webhook response is missing")
    if response.get("uid") != uid:
        raise ValueError(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    patch = response.get("patch")
    if patch and not mutates:
        raise ValueError("unexpected patch in the response of a validating webhook")
    if patch and response.get("patchType") != "JSONPatch":
        raise ValueError(f'invalid response.patchType of "{response.get("patchType", "")}", expected "JSONPatch"')
    warnings = tuple(str(one) for one in response.get("warnings") or ())
    return Verdict(response.get("allowed") is True, response.get("status") or {}, _operations(patch), warnings)


def _operations(patch: Any) -> tuple[Json, ...]:
    if not patch:
        return ()
    try:
        return tuple(msgspec.json.decode(base64.b64decode(patch, validate=True), type=list[Json]))
    except (binascii.Error, TypeError, ValueError) as error:
        raise ValueError(f"the patch cannot be read: {error}") from None
