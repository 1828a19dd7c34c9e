"""The options of a write: what may stand in its query (422)."""

from __future__ import annotations

from collections.abc import Mapping

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.rules.causes import not_supported
from simulation.apiserver.status import invalid

_OPTIONS = {
    verb: ServedResource("meta.k8s.io", "v1", kind, "", kind, False)
    for verb, kind in (("create", "CreateOptions"), ("update", "UpdateOptions"), ("patch", "PatchOptions"))
}
"""The resources as errors name them; no server has them."""
_DIRECTIVES = ("", "Ignore", "Strict", "Warn")


def check_options(verb: str, query: Mapping[str, str]) -> None:
    """Raises StatusError (422)."""
    options = _OPTIONS.get(verb)
    if options is None:
        return
    causes = []
    dry_run, directive = query.get("dryRun") or "All", query.get("fieldValidation", "")
    if dry_run != "All":
        causes.append(not_supported("dryRun", [dry_run], ("All",)))
    if directive not in _DIRECTIVES:
        causes.append(not_supported("fieldValidation", directive, _DIRECTIVES))
    if causes:
        raise invalid(options, "", causes)
