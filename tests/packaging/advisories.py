"""The advisories that the repository keeps, and what they say of one release. Pure.

`deploy/advisories.json` holds them: known faults of the packages in `deploy/requirements.lock`, as `pip-audit` wants
them. Networks that reach PyPI only have no other list. `tests.packaging.audit` refreshes the file and serves it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
ADVISORIES = ROOT / "deploy" / "advisories.json"
LOCK = ROOT / "deploy" / "requirements.lock"


@dataclass(frozen=True)
class Advisory:
    """A fault of a package.

    Releases from `introduced` on have it, up to the newest of `fixed`, which does not.
    """

    package: str
    id: str
    aliases: tuple[str, ...] = ()
    introduced: str = "0"
    fixed: tuple[str, ...] = ()

    def affects(self, version: str) -> bool:
        """Counts a fixed release of an older branch as affected, too: a needless look does no harm."""
        asked = Version(version)
        too_new = self.fixed and asked >= max(Version(each) for each in self.fixed)
        return asked >= Version(self.introduced) and not too_new


def advisories(path: Path = ADVISORIES) -> tuple[Advisory, ...]:
    """All that the file holds."""
    return tuple(advisory_of(each) for each in json.loads(path.read_text())["advisories"])


def advisory_of(fields: Mapping[str, Any]) -> Advisory:
    return Advisory(**{**fields, "aliases": tuple(fields.get("aliases", ())), "fixed": tuple(fields.get("fixed", ()))})


def file_text(held: Iterable[Advisory], taken: str) -> str:
    """The text of the file with these advisories, one a line. `taken`: when a source was last read."""
    lines = sorted(json.dumps({name: value for name, value in asdict(each).items() if value}) for each in held)
    return f'{{"taken": "{taken}", "advisories": [\n' + ",\n".join(lines) + "\n]}\n"


def of_pypi(package: str, document: Mapping[str, Any]) -> list[Advisory]:
    """The advisories in PyPI's JSON document of one release. Withdrawn ones are left out."""
    return [
        Advisory(package, each["id"], tuple(each.get("aliases", ())), fixed=tuple(each.get("fixed_in", ())))
        for each in document.get("vulnerabilities", ())
        if not each.get("withdrawn")
    ]


def osv_answer(held: Iterable[Advisory], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of an OSV server to a query of `pip-audit`; empty when nothing is known."""
    package, version = canonicalize_name(asked["package"]["name"]), asked["version"]
    found = [each for each in held if each.package == package and each.affects(version)]
    return {"vulns": [_osv(each) for each in found]} if found else {}


def _osv(advisory: Advisory) -> dict[str, Any]:
    events = [{"introduced": advisory.introduced}, *({"fixed": each} for each in advisory.fixed)]
    affected = {
        "package": {"name": advisory.package, "ecosystem": "PyPI"},
        "ranges": [{"type": "ECOSYSTEM", "events": events}],
    }
    return {"id": advisory.id, "aliases": list(advisory.aliases), "affected": [affected]}


def locked(text: str) -> dict[str, str]:
    """Package -> version of a lock file."""
    pins = (line.partition(";")[0].split()[0] for line in text.splitlines() if line and line[0].isalnum())
    return {canonicalize_name(name): version for name, _, version in (pin.partition("==") for pin in pins)}
