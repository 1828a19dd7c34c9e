"""The options of a request: what may stand in its query (400, 422)."""

from __future__ import annotations

from collections.abc import Mapping

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.rules.causes import Cause, forbidden, not_supported
from simulation.apiserver.status import bad_request, invalid

_OPTIONS = {
    verb: ServedResource("meta.k8s.io", "v1", kind, "", kind, False)
    for verb, kind in (
        ("create", "CreateOptions"),
        ("update", "UpdateOptions"),
        ("patch", "PatchOptions"),
        ("delete", "DeleteOptions"),
        ("deletecollection", "DeleteOptions"),
        ("list", "ListOptions"),
        ("watch", "ListOptions"),
    )
}
"""The resources as errors name them; no server has them."""
_DIRECTIVES = ("", "Ignore", "Strict", "Warn")


_DIGITS_AT_MOST = 19
_NUMBERS = ("limit", "timeoutSeconds")
EXACT, NOT_OLDER = "Exact", "NotOlderThan"


def is_set(text: str | None) -> bool:
    """Whether a flag of a query is set: as upstream reads it, all is true but "0" and "false"."""
    return text is not None and text != "0" and text.lower() != "false"


def check_options(verb: str, query: Mapping[str, str]) -> None:
    """Raises StatusError (400, 422)."""
    options = _OPTIONS.get(verb)
    if options is None:
        return
    causes: list[Cause] = []
    if verb in ("list", "watch", "deletecollection"):
        for name in _NUMBERS:
            whole_number(name, query)
        listed = _watch_faults(query) if verb == "watch" else _list_faults(query)
        if listed:
            raise invalid(_OPTIONS["list"], "", listed)
    if verb in ("list", "watch"):
        return
    dry_run = query.get("dryRun") or "All"
    if dry_run != "All":
        causes.append(not_supported("dryRun", [dry_run], ("All",)))
    directive = query.get("fieldValidation", "")
    if directive not in _DIRECTIVES and options.kind != "DeleteOptions":
        causes.append(not_supported("fieldValidation", directive, _DIRECTIVES))
    if causes:
        raise invalid(options, "", causes)


def check_dry_run(asked: object) -> None:
    """The `dryRun` in the body of a deletion. Raises StatusError (422)."""
    if asked and asked != ["All"]:
        raise invalid(_OPTIONS["delete"], "", [not_supported("dryRun", asked, ("All",))])


def begins_with_all(query: Mapping[str, str]) -> bool:
    """Whether a watch sends all objects first: because it says so, or begins at no version."""
    if "sendInitialEvents" in query:
        return is_set(query["sendInitialEvents"])
    return query.get("resourceVersion", "") in ("", "0")


def whole_number(name: str, query: Mapping[str, str]) -> int | None:
    """A number of the query; None without one. Raises StatusError (400)."""
    text = query.get(name, "")
    if not text:
        return None
    if not text.removeprefix("-").isdecimal():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(text) > _DIGITS_AT_MOST:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)


def _list_faults(query: Mapping[str, str]) -> list[Cause]:
    """See `ValidateListOptions` of apimachinery."""
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    causes: list[Cause] = []
    if match:
        if not version:
            causes.append(_no_match("is forbidden unless resourceVersion is provided"))
        if query.get("continue"):
            causes.append(_no_match("is forbidden when continue is provided"))
        if match not in (EXACT, NOT_OLDER):
            causes.append(not_supported(_MATCH, match, (EXACT, NOT_OLDER, "")))
        if match == EXACT and version == "0":
            causes.append(_no_match('"exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query:
        causes.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _watch_faults(query: Mapping[str, str]) -> list[Cause]:
    """See `validateWatchOptions` of apimachinery."""
    match, says_initial = query.get(_MATCH, ""), "sendInitialEvents" in query
    if not (match or says_initial) and begins_with_all(query):
        match, says_initial = NOT_OLDER, True
    causes: list[Cause] = []
    if says_initial and match != NOT_OLDER:
        causes.append(forbidden(_MATCH, f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER}"))
    if match and not says_initial:
        causes.append(_no_match("is forbidden for watch unless sendInitialEvents is provided"))
    if match not in ("", NOT_OLDER):
        causes.append(not_supported(_MATCH, match, (NOT_OLDER,)))
    if match and query.get("continue"):
        causes.append(_no_match("is forbidden when continue is provided"))
    return causes


_MATCH = "resourceVersionMatch"


def _no_match(why: str) -> Cause:
    return forbidden(_MATCH, f"{_MATCH} {why}")
