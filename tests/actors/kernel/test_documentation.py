"""The worked example of the documentation runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "adding-an-actor.md"


def test_every_block_of_python_in_adding_an_actor_runs():
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6
    world: dict[str, Any] = {"__name__": "adding_an_actor"}
    exec(compile("\n".join(blocks), str(PAGE), "exec"), world)
    assert [type(message).__name__ for message in world["heard"]] == ["SweepingFailed", "DirectorySwept"]
