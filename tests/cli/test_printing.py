"""What commands and Python itself print: words from outside stay words."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.printing import complain, say, say_json
from tests.attacks.words import FORGED, TITLE, WORDS, forged_lines, raw_characters

ROOT = Path(__file__).parents[2]


def test_each_text_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\nb", "", TITLE)
    complain(f"it failed: {FORGED}")
    told = capsys.readouterr()
    assert told.out == "a\\nb\n\n\\x1b]0;owned\\x07\n"
    assert told.err.startswith("it failed: \\nE0102")


def test_a_document_has_its_true_texts_and_no_raw_one() -> None:
    out = io.StringIO()
    say_json(json.dumps({"said": WORDS}, ensure_ascii=False), to=out)
    assert json.loads(out.getvalue()) == {"said": WORDS}
    assert not raw_characters(out.getvalue())


@pytest.mark.parametrize(
    "code",
    [
        "raise ValueError(WORDS)",
        "import threading\ndef fail():\n    raise ValueError(WORDS)\nthreading.Thread(target=fail).start()",
        "import logging; logging.getLogger('nobody').warning('it failed: %s', WORDS)",
    ],
)
def test_what_python_prints_by_itself_is_harmless(code: str) -> None:
    code = f"from cli.printing import guard_interpreter\nguard_interpreter()\nWORDS = {WORDS!r}\n{code}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "owned" in done.stderr
    assert not raw_characters(done.stderr)
    assert not forged_lines(done.stderr)


def test_a_word_that_the_terminal_cannot_spell_ends_no_command() -> None:
    code = "from cli.printing import guard_interpreter, say\nguard_interpreter()\nsay('容器')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env=environment)
    assert (done.stdout, done.returncode) == ("\\u5bb9\\u5668\n", 0)
