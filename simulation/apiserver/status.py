"""The Status of a refused request, with the reasons and sentences that clients look for.

`StatusError` carries one; each function here makes one kind of refusal. Owns the wording. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Json = dict[str, Any]


class Named(Protocol):
    """A resource, as refusals name it."""

    @property
    def group(self) -> str: ...
    @property
    def kind_group(self) -> str:
        """The group beside the kind."""

    @property
    def plural(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def group_resource(self) -> str:
        """`leases.coordination.k8s.io`."""


class StatusError(Exception):
    """The request is refused. `code` is the HTTP status; `retry_after_s` becomes the Retry-After header."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Json | None = None,
        *,
        retry_after_s: int | None = None,
        metadata: Json | None = None,
    ) -> None:
        super().__init__(code, reason, message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after_s = retry_after_s
        self.metadata = metadata

    def __str__(self) -> str:
        return f"{self.code} {self.reason}: {self.message}"

    def as_object(self) -> Json:
        """The Status as JSON builtins."""
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata or {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def success(resource: Named, name: str, uid: str = "", code: int = 200) -> Json:
    """The Status of a success without an object."""
    details = _details(resource, name)
    if uid:
        details["uid"] = uid
    status: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if code != 200:
        return {**status, "code": code}
    return {**status, "details": details}


def _details(resource: Named, name: str, *, kind: str = "", group: str | None = None) -> Json:
    details: Json = {"name": name} if name else {}
    group = resource.group if group is None else group
    if group:
        details["group"] = group
    if kind or resource.plural:
        details["kind"] = kind or resource.plural
    return details


def no_such_path() -> StatusError:
    """The path is not served."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def not_found(resource: Named, name: str) -> StatusError:
    """The object does not exist."""
    return StatusError(404, "NotFound", f'{resource.group_resource} "{name}" not found', _details(resource, name))


def already_exists(resource: Named, name: str) -> StatusError:
    """The name is taken."""
    text = f'{resource.group_resource} "{name}" already exists'
    return StatusError(409, "AlreadyExists", text, _details(resource, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def failed_precondition(resource: Named, name: str, what: str, wanted: str, found: str, happened: str) -> StatusError:
    """A precondition of a deletion does not hold. `what`: the field. `happened`: what may have happened."""
    group = resource.kind_group
    kind = f"{resource.kind}.{group}" if group else resource.kind
    text = (
        f'Operation cannot be fulfilled on {kind} "{name}": the {what} in the precondition ({wanted}) '
        f"does not match the {what} in record ({found}). The object might have been {happened}"
    )
    return StatusError(409, "Conflict", text, _details(resource, name, kind=resource.kind, group=group))


def conflict(resource: Named, name: str, why: str = MODIFIED, part: str = "") -> StatusError:
    """A precondition does not hold."""
    what = f"{resource.group_resource}/{part}" if part else resource.group_resource
    text = f'Operation cannot be fulfilled on {what} "{name}": {why}'
    return StatusError(409, "Conflict", text, _details(resource, name))


class _Nothing:
    group = kind_group = plural = kind = group_resource = ""


NOTHING: Named = _Nothing()
"""In place of a resource where a refusal names none."""


def invalid(
    resource: Named, name: str, causes: Sequence[tuple[str, str, str]], *, by_plural: bool = False
) -> StatusError:
    """The object breaks rules. `causes`: (reason, message, field); reason as in FieldValueInvalid.

    `by_plural`: it is called `leases` instead of `Lease`, as the store of a kube-apiserver does.
    """
    texts = list(dict.fromkeys(f"{field}: {message}" for _, message, field in causes))
    what = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    called, group = (resource.plural, resource.group) if by_plural else (resource.kind, resource.kind_group)
    details = _details(resource, name, kind=called, group=group)
    details["causes"] = [{"reason": reason, "message": message, "field": field} for reason, message, field in causes]
    kind = f"{called}.{group}" if group else called
    return StatusError(422, "Invalid", f'{kind} "{name}" is invalid: {what}', details)


def invalid_value(field: str, value: object, why: str) -> tuple[str, str, str]:
    """One cause for `invalid`."""
    shown = f'"{value}"' if isinstance(value, str) else value
    return ("FieldValueInvalid", f"Invalid value: {shown}: {why}", field)


def required(field: str, why: str = "") -> tuple[str, str, str]:
    """One cause for `invalid`: the field must be there."""
    return ("FieldValueRequired", f"Required value{': ' + why if why else ''}", field)


def forbidden_field(field: str, why: str) -> tuple[str, str, str]:
    """One cause for `invalid`: the field may not be there, or not change."""
    return ("FieldValueForbidden", f"Forbidden: {why}", field)


def bad_request(message: str) -> StatusError:
    """The request cannot be understood."""
    return StatusError(400, "BadRequest", message)


def forbidden(resource: Named, name: str, why: str, causes: Sequence[Json] = ()) -> StatusError:
    """Understood, and not allowed."""
    what = f'{resource.group_resource} "{name}"' if name else resource.group_resource
    details = _details(resource, name)
    if causes:
        details["causes"] = list(causes)
    return StatusError(403, "Forbidden", f"{what} is forbidden: {why}", details)


def unauthorized() -> StatusError:
    """The client is not authenticated."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> StatusError:
    """The resource has no such verb."""
    text = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", text, {})


def unsupported_media_type(accepted: Sequence[str], got: str = "") -> StatusError:
    """The body is in a format that is not read here."""
    text = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    text += f" (got {got})" if got else ""
    return StatusError(415, "UnsupportedMediaType", text)


def expired(message: str, *, continue_: str = "") -> StatusError:
    """The resourceVersion, or the continue token, lies before what is remembered.

    `continue_`: a token with which the client can go on.
    """
    return StatusError(410, "Expired", message, metadata={"continue": continue_} if continue_ else None)


def too_large_version(asked: int, current: int) -> StatusError:
    """A resourceVersion that this server has not come to yet."""
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return StatusError(504, "Timeout", message, {"causes": causes, "retryAfterSeconds": 1}, retry_after_s=1)


def unavailable(message: str) -> StatusError:
    """A needed component does not answer."""
    return StatusError(503, "ServiceUnavailable", message)


def internal_error(message: str) -> StatusError:
    """A fault of the server itself."""
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})
