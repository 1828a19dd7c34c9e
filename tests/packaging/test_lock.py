"""`deploy/requirements.lock` holds what `setup.cfg` asks for, each release by its digests.

`tox -e audit` lets pip resolve the file and looks for known faults in it; that needs PyPI and `pip-audit`.
"""

from __future__ import annotations

import re
from configparser import ConfigParser
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.advisories import LOCK, ROOT, locked

TEXT = LOCK.read_text()
PINS = locked(TEXT)


def wanted() -> list[Requirement]:
    """The dependencies in `setup.cfg`."""
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return [Requirement(line) for line in parser["options"]["install_requires"].split("\n") if line]


def needs_of(package: str) -> list[Requirement]:
    """What an installed package needs here; nothing when this platform does without the package."""
    try:
        found = [Requirement(line) for line in requires(package) or ()]
    except PackageNotFoundError:
        return []
    return [each for each in found if each.marker is None or each.marker.evaluate({"extra": ""})]


@pytest.mark.parametrize("requirement", wanted(), ids=str)
def test_every_dependency_is_locked_at_a_release_that_it_allows(requirement: Requirement) -> None:
    assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)])


@pytest.mark.parametrize("package", sorted(PINS))
def test_dependencies_of_locked_packages_are_locked_too(package: str) -> None:
    assert [str(each) for each in needs_of(package) if canonicalize_name(each.name) not in PINS] == []


def test_every_release_is_locked_by_digest() -> None:
    entries = re.split(r"\n(?=[a-z0-9])", "\n".join(line for line in TEXT.splitlines() if not line.startswith("#")))
    assert len(entries) == len(PINS)
    assert all(re.search(r"^\S+==\S+( ;.*)? \\(\n    --hash=sha256:[0-9a-f]{64}( \\)?)+", each) for each in entries)
    assert "://" not in TEXT
