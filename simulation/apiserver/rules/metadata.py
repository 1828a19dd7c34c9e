"""The rules of every object's metadata. Pure.

Upstream has them in `apimachinery/pkg/api/validation/objectmeta.go`. A new object is checked once. A changed one is
checked by the general rules and by those of changes. Then the validation of its kind may repeat them
(`OfMetadata.again`). A kube-apiserver gives a cause each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.engine import OfMetadata
from simulation.apiserver.rules.spelling import FORMS, LONGEST_SUBDOMAIN, OF_PREFIXES, label_key, label_value

Json = dict[str, Any]
ANNOTATION_BYTES_AT_MOST = 256 * 1024
_AT = "metadata"
_CHECKED = ("labels", "annotations", "ownerReferences", "finalizers")
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_NO_OWNERS = frozenset({("v1", "Event")})


def causes_of_new(rules: OfMetadata, metadata: Json) -> list[Cause]:
    """The faults of the metadata of a new object."""
    found = [*_names(rules, metadata), *_common(metadata), *_finalizers(metadata)]
    return [*found, *_plain_finalizers(rules, metadata)]


def causes_of_change(rules: OfMetadata, metadata: Json, before: Json) -> list[Cause]:
    """The faults of changed metadata; what is as before was good."""
    found: list[Cause] = []
    moved = any(metadata.get(field) != before.get(field) for field in _CHECKED)
    if moved:
        found += [*_common(metadata), *_finalizers(metadata)]
    found += _change(metadata, before, moved)
    for what in rules.again:
        if what == "update":
            found += _change(metadata, before, moved)
        elif moved:
            found += [*_common(metadata), *_finalizers(metadata)]
        if moved:
            found += _plain_finalizers(rules, metadata)
    return found


def _names(rules: OfMetadata, metadata: Json) -> Iterator[Cause]:
    prefix, name = metadata.get("generateName"), metadata.get("name")
    if prefix and rules.generated:
        yield from (causes.invalid(f"{_AT}.generateName", prefix, why) for why in OF_PREFIXES[rules.name](prefix))
    if not name:
        yield causes.required(f"{_AT}.name", "name or generateName is required")
        return
    faults = FORMS[rules.name](name)
    if not rules.generated:
        # Declarative validation counts bytes and stops at the first fault.
        most = f"must be no more than {LONGEST_SUBDOMAIN}"
        faults = [fault.replace(f"{most} characters", f"{most} bytes") for fault in faults[:1]]
    yield from (causes.invalid(f"{_AT}.name", name, why) for why in faults)
    if rules.longest_name is not None and len(name) > rules.longest_name:
        yield causes.invalid(f"{_AT}.name", name, f"must be no more than {rules.longest_name} characters")


def _change(metadata: Json, before: Json, moved: bool) -> Iterator[Cause]:
    if "deletionTimestamp" in before:
        kept = before.get("finalizers") or ()
        added = sorted({one for one in metadata.get("finalizers") or () if one not in kept})
        if added:
            texts = ", ".join(map(causes.shown, added))
            why = "no new finalizers can be added if the object is being deleted, found new finalizers "
            yield causes.forbidden(f"{_AT}.finalizers", f"{why}[]string{{{texts}}}")
    if metadata.get("uid") != before.get("uid"):
        yield causes.invalid(f"{_AT}.uid", metadata.get("uid"), causes.IMMUTABLE)
    if moved:
        yield from _common(metadata)


def _common(metadata: Json) -> Iterator[Cause]:
    generation = metadata.get("generation") or 0
    if generation < 0:
        yield causes.invalid(f"{_AT}.generation", generation, causes.NOT_NEGATIVE)
    for key, value in (metadata.get("labels") or {}).items():
        yield from (causes.invalid(f"{_AT}.labels", key, why) for why in label_key(key))
        yield from (causes.invalid(f"{_AT}.labels", value, why) for why in label_value(value))
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        yield from (causes.invalid(f"{_AT}.annotations", key, why) for why in label_key(key.lower()))
    size_bytes = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size_bytes > ANNOTATION_BYTES_AT_MOST:
        yield causes.too_long(f"{_AT}.annotations", ANNOTATION_BYTES_AT_MOST)
    yield from _owners(metadata.get("ownerReferences") or ())


def _owners(owners: Sequence[Json]) -> Iterator[Cause]:
    at, first = f"{_AT}.ownerReferences", ""
    for owner in owners:
        if not owner.get("apiVersion"):
            yield causes.invalid(f"{at}.apiVersion", "", "version must not be empty")
        for part in ("kind", "name", "uid"):
            if not owner.get(part):
                yield causes.invalid(f"{at}.{part}", "", "must not be empty")
        if (owner.get("apiVersion"), owner.get("kind")) in _NO_OWNERS:
            what = f"/{owner['apiVersion']}, Kind={owner['kind']}"
            yield causes.invalid(at, owner, f"{what} is disallowed from being an owner")
        if owner.get("controller") is True:
            name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if first:
                why = 'Only one reference can have Controller set to true. Found "true" in references for'
                yield causes.invalid(at, list(owners), f"{why} {first} and {name}")
            else:
                first = name


def _finalizers(metadata: Json) -> Iterator[Cause]:
    at, finalizers = f"{_AT}.finalizers", metadata.get("finalizers") or ()
    for name in finalizers:
        yield from (causes.invalid(at, name, why) for why in label_key(name))
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        why = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        yield causes.invalid(at, list(finalizers), why)


def _plain_finalizers(rules: OfMetadata, metadata: Json) -> Iterator[Cause]:
    if rules.plain_finalizers:
        return
    for number, name in enumerate(metadata.get("finalizers") or ()):
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield causes.invalid(f"{_AT}.finalizers[{number}]", name, why)
