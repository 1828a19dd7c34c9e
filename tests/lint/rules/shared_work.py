"""No shared actor computes for a pod: what grows with a pod's size is its own actor's work.

An actor that serves all pods keeps books. While it walks a pod with 30,000 variables, all others wait. Two rules hold
for the modules of such actors:

- Each handler says in its docstring what it does for one message, in a line that begins with `Work:`.
- Nothing walks a field of a pod, and nothing calls a function that does. What is kept once per spec may be asked for:
  the pod's worker has computed it. `ALLOWED` has the other places, each with its reason.

The tree does not say what is a pod. So fields are known by their names, on something that is called like a pod's part.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from tests.lint.rules import Finding, Module

RULE = "shared-work"
ROOMS = frozenset(
    {
        *("cluster", "containers", "eviction", "events", "images", "node", "pleg", "resources", "sources", "status"),
        *("sync", "volumes"),
    }
)
"""Rooms of `actors/` whose actors serve all pods. The others are of one pod, or pure rules for it."""
OF_ONE_POD = (
    "actors/events/history_words.py",
    "actors/volumes/claims/csi_rules.py",
    "actors/volumes/claims/growth.py",
    "actors/volumes/claims/resolver.py",
    "actors/volumes/claims/rules.py",
    "actors/volumes/claims/walk.py",
    "actors/volumes/wishes/",
)
"""Modules of these rooms that serve one pod, or folders of such."""
WITHOUT_BOUNDS = frozenset({"images", "volumes"})
"""Not yet: rooms whose handlers need not say their work. Nothing there walks a pod, either."""

FIELDS: Mapping[str, frozenset[str]] = {
    "spec": frozenset(
        {
            *("containers", "ephemeral_containers", "host_aliases", "image_pull_secrets", "init_containers"),
            *("node_selector", "overhead", "readiness_gates", "resource_claims", "scheduling_gates", "tolerations"),
            *("topology_spread_constraints", "volumes"),
        }
    ),
    "metadata": frozenset({"annotations", "finalizers", "labels", "managed_fields", "owner_references"}),
    "status": frozenset(
        {"conditions", "container_statuses", "ephemeral_container_statuses", "init_container_statuses"}
    ),
    "container": frozenset(
        {"args", "command", "env", "env_from", "ports", "resize_policy", "volume_devices", "volume_mounts"}
    ),
    "security_context": frozenset({"supplemental_groups", "sysctls"}),
}
"""By the last word of what has them: the fields that a pod may make long."""
CALLED_LIKE = {"meta": "metadata", "pod": "metadata", "each": "container", "whole": "security_context"}
"""Other words for these."""
WALKS = frozenset(
    {
        *("default_pod", "documents_of", "environment", "outline_of", "validate_metadata", "validate_pod"),
        *("validate_spec", "same_resources", "resources_in", "with_resources", "compute_pod_status"),
    }
)
"""Functions that walk a pod each time they are called."""

_VICTIM = "of the one pod that is evicted, once"
_RESIZED = "of a pod that asks for other resources, at each try"
_OTHERS = "conditions that others wrote are few, or the pod's status cannot be written"
_STATUSES = "an object of the API holds the statuses of some 4,000 containers; one takes 0.1 us"

ALLOWED: Mapping[str, str] = {
    "actors/cluster/pod_certificate_rules.py:verdict_of": "it is a request for a certificate, no pod",
    "actors/cluster/pod_certificates.py:PodCertificatesActor._answer": "of a pod with such volumes, at each question",
    "actors/eviction/words.py:eviction_words": _VICTIM,
    "actors/node/certificate_rules.py:verdict_of": "it is a request for a certificate, no pod",
    "actors/resources/refused_owners.py:_controller_of": "it looks at the first owners only",
    "actors/resources/resize/infeasible.py:infeasible": _RESIZED,
    "actors/resources/resize/infeasible.py:_changes_swap": _RESIZED,
    "actors/resources/resize/verdicts.py:resize_verdict": _RESIZED,
    "actors/resources/share_keeper.py:ShareKeeper.resume": "of a pod that ran before, where CPUs may be resized",
    "actors/sources/mirror_pods.py:MirrorPodActor._look_who_is_there": "of a pod that has the name of a mirror",
    "actors/status/merge.py:_plain_status": _STATUSES,
    "actors/status/merge.py:_unready": _OTHERS,
    "actors/status/urgency.py:_ready": _OTHERS,
    "actors/status/urgency.py:_resizes": _OTHERS,
    "actors/status/urgency.py:_troubles": "it looks at the first containers only",
}
"""Path and function -> why it may."""


def check(module: Module) -> Iterator[Finding]:
    if not _is_shared(module):
        return
    says_its_work = module.path.parts[1] not in WITHOUT_BOUNDS
    for function, name in _functions(module.tree):
        if says_its_work:
            yield from _handler_without_bound(module, function)
        if _is_kept(function) or f"{module.path}:{name}" in ALLOWED:
            continue
        for node, what in _walks_in(function):
            why = (
                f"an actor that serves all pods walks {what}; let the pod's worker do it, once per spec or per message"
            )
            yield module.finding(node, RULE, why)


def check_allowed(modules: Iterable[Module]) -> Iterator[Finding]:
    """Every place that is allowed is one that needs it."""
    there = {str(module.path): module for module in modules}
    for place, _ in ALLOWED.items():
        path, _, name = place.partition(":")
        module = there.get(path)
        found = {its_name: function for function, its_name in _functions(module.tree)} if module else {}
        if module is not None and (name not in found or not any(_walks_in(found[name]))):
            yield Finding(path, 1, RULE, f"{name} walks no pod; take it out of ALLOWED")


def _is_shared(module: Module) -> bool:
    parts = module.path.parts
    return parts[0] == "actors" and parts[1] in ROOMS and not str(module.path).startswith(OF_ONE_POD)


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(tree: ast.AST, within: str = "") -> Iterator[tuple[_Function, str]]:
    """Every function that stands in the module or in a class, with its name: `Class.method`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{node.name}.")
        elif isinstance(node, _Function):
            yield node, within + node.name


def _handler_without_bound(module: Module, function: _Function) -> Iterator[Finding]:
    if not any(isinstance(each, ast.Call) and _name_of(each.func) == "handles" for each in function.decorator_list):
        return
    lines = (ast.get_docstring(function) or "").splitlines()
    if not any(line.startswith("Work: ") and line.endswith(".") for line in lines):
        why = f"{function.name} does not say its work for one message; write `Work: constant.`, or what bounds it"
        yield module.finding(function, RULE, why)


def _is_kept(function: _Function) -> bool:
    """Whether its results are kept with the spec."""
    return any(_name_of(each) == "once_per_spec" for each in function.decorator_list)


def _walks_in(function: _Function) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            for field in _fields_in(node.iter):
                yield node.iter, f"the {field} of a pod"
        elif isinstance(node, ast.Call) and (name := _name_of(node.func)) in WALKS:
            yield node, f"a pod in {name}"


def _fields_in(walked: ast.expr) -> Iterator[str]:
    """The fields of a pod in what a loop walks."""
    for node in ast.walk(walked):
        if isinstance(node, ast.Attribute):
            owner = _name_of(node.value)
            if node.attr in FIELDS.get(CALLED_LIKE.get(owner, owner), ()):
                yield node.attr


def _name_of(node: ast.expr) -> str:
    """The last word of a name: `status` of `pod.status`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
