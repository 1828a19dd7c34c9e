"""Real credential programs: their input, and what happens to those that misbehave."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from config.credentials.docker_config import Credential, RegistryEntry
from config.credentials.image_providers import EXEC_V1, ImageProvider
from config.credentials.provider_answers import CacheScope, ProviderAnswer
from runtime.image_providers.capability import ProviderFailedError, ProviderRequest
from runtime.image_providers.programs import LIMITS, LocalImageProviders
from runtime.io.event_loop import LoopThread
from runtime.io.programs import Limits
from runtime.metrics.kubelet import CREDENTIAL_PROVIDER_DURATION, CREDENTIAL_PROVIDER_ERRORS
from runtime.metrics.meters import Meters

WAIT = 120
REQUEST = ProviderRequest("r.io/app", "t0k3n-of-pod", {"role": "r"})
PROVIDER = ImageProvider("teller", ("r.io",), 7, args=("--key", "s3cr3t-arg"), env=(("WHO", "s3cr3t-env"),))
GOOD = f"""
import json, os, sys
told = json.load(sys.stdin)
auth = {{"r.io": {{"username": " ".join([told["image"], told["serviceAccountToken"], *sys.argv[1:]]),
    "password": os.environ["WHO"] + os.environ["HOME"]}}}}
print(json.dumps({{"kind": "CredentialProviderResponse", "apiVersion": "{EXEC_V1}", "cacheKeyType": "Registry",
    "auth": auth}}))
"""
ANSWER = {
    "kind": "CredentialProviderResponse",
    "apiVersion": EXEC_V1,
    "cacheKeyType": "Image",
    "auth": {"r.io": {"username": "u", "password": "s3cr3t-given"}},
}
FORKS = f"import os, time\nif os.fork() == 0: time.sleep(600)\nos.write(1, {json.dumps(ANSWER).encode()!r})"
COMPLAINS = f"""
import os, sys
sys.stdout.write({json.dumps(json.dumps(ANSWER))})
sys.stderr.write("no luck with " + sys.stdin.read() + " ".join(sys.argv) + os.environ["WHO"] + " s3cr3t-given")
sys.exit(1)
"""


class Bench:
    """A directory of programs, and who runs them."""

    def __init__(self, directory: Path, loop: LoopThread) -> None:
        self._directory = directory
        self._loop = loop
        self.meters = Meters()

    def ask(self, code: str, limits: Limits = LIMITS) -> ProviderAnswer:
        program = self._directory / PROVIDER.name
        program.write_text(f"#!{sys.executable}\n{code}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return self.run(limits)

    def run(self, limits: Limits = LIMITS) -> ProviderAnswer:
        environment = {"HOME": "/h", "PATH": os.environ["PATH"]}
        who = LocalImageProviders((PROVIDER,), str(self._directory), self._loop, self.meters, limits, environment)
        return who.ask(PROVIDER, REQUEST).result(WAIT)

    def failure(self, code: str, limits: Limits = LIMITS) -> ProviderFailedError:
        with pytest.raises(ProviderFailedError) as caught:
            self.ask(code, limits)
        assert str(caught.value).startswith("credential provider teller for r.io/app: ")
        shown = f"{caught.value}{caught.value.complaint}"
        assert not any(secret in shown for secret in ("s3cr3t", "t0k3n"))
        return caught.value


@pytest.fixture(params=["as it is", "ending with us"])
def bench(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    if request.param == "as it is":
        monkeypatch.setattr("runtime.io.programs.ending_with_us", tuple)
    with closing(LoopThread("programs")) as loop:
        yield Bench(tmp_path, loop)


# (spec 6.3.7)
def test_a_program_is_told_of_the_image_and_sees_its_arguments_and_variables(bench: Bench) -> None:
    credential = Credential("r.io/app t0k3n-of-pod --key s3cr3t-arg", "s3cr3t-env/h")
    assert bench.ask(GOOD) == ProviderAnswer(CacheScope.REGISTRY, 7, (RegistryEntry("r.io", credential),))
    assert bench.meters.series(CREDENTIAL_PROVIDER_DURATION, "teller") is not None


def test_one_that_fails_is_named_with_its_status_and_its_complaint_has_no_secret(bench: Bench) -> None:
    failure = bench.failure(COMPLAINS)
    assert str(failure).endswith("exit status 1")
    assert "no luck with" in failure.complaint
    rows = list(bench.meters.series(CREDENTIAL_PROVIDER_ERRORS, "teller").rows(()))
    assert [row.value for row in rows] == [1]


@pytest.mark.parametrize("code", ["print('s3cr3t garbage')", "import os; os.write(1, bytes(range(256)))", "pass"])
def test_one_that_prints_garbage_gives_nothing(bench: Bench, code: str) -> None:
    assert "its answer cannot be used: it is not JSON" in str(bench.failure(code))


def test_one_that_prints_without_end_is_ended(bench: Bench) -> None:
    assert "printed more than" in str(bench.failure("import os\nwhile True: os.write(1, b'{' * 65536)"))


# (spec 6.3.7)
def test_one_that_hangs_is_ended(bench: Bench) -> None:
    limits = Limits(seconds=3.0, output_bytes=1000, complaint_bytes=1000)
    failure = bench.failure(
        "import sys, time\nsys.stderr.write('dialing')\nsys.stderr.flush()\ntime.sleep(600)", limits
    )
    assert "did not end within 3 s" in str(failure)


def test_one_that_leaves_a_child_is_heard_all_the_same(bench: Bench) -> None:
    assert bench.ask(FORKS).entries == (RegistryEntry("r.io", Credential("u", "s3cr3t-given")),)


def test_one_that_is_not_there_any_more_is_named(bench: Bench) -> None:
    with pytest.raises(ProviderFailedError, match="cannot be run: No such file"):
        bench.run()
