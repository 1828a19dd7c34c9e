"""No file has a name that a shell made of a mistyped redirection.

Twenty such files once lay at the top.

Looked at on the disk and not in git, so that the mistake is seen before it is committed.
"""

from __future__ import annotations

import re

from tests.lint.rules.__main__ import FOLDERS, ROOT

NAME = re.compile(r"[\w.][\w.+@-]*")
"""No blank, no bracket, no colon; dots, and what names of units and of templates have."""


def test_no_file_has_a_name_that_a_shell_made():
    top = {path.relative_to(ROOT) for path in ROOT.iterdir()}
    below = {path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*")}
    assert [str(path) for path in sorted(top | below) if not NAME.fullmatch(path.name)] == []
