"""What a user installs: one package in site-packages.

Tests run beside folders that have the names of our floors.

The wheel, the sdist and the editable install each go into a virtual environment of their own. Dependencies come from
the environment that runs this test: a `.pth` file leads to them. Editable installs there stay inactive.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ("actors", "cli", "config", "runtime", "simulation")
SOURCES = ("setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE", "actorlet", *FLOORS)
PATIENCE_S = 300

FOLDER_OF_THE_USER = """
import sys

if "pytest" not in sys.modules:
    raise RuntimeError(f"a process of actorlet has imported {__name__} of the user")
OWNER = "the user"
"""
TEST_OF_THE_USER = """
import json
import ssl
import sys
from urllib.request import urlopen

import actors, cli, config, runtime, simulation
import pytest

from actorlet.testing import Cluster, ClusterError


@pytest.mark.simulated_cluster(nodes=2)
def test_with_a_cluster(simulated_cluster: Cluster) -> None:
    web = simulated_cluster.load("web", 3)
    simulated_cluster.until(lambda: web.ready == 3)
    trusted = ssl.create_default_context(cafile=simulated_cluster.certificate_authority)
    with urlopen(f"{simulated_cluster.url}/api/v1/nodes", context=trusted) as answer:
        assert len(json.load(answer)["items"]) == 2
    with pytest.raises(ClusterError, match="there is no node 'node-9'"):
        simulated_cluster.kill_node("node-9")
    assert {each.OWNER for each in (actors, cli, config, runtime, simulation)} == {"the user"}
    assert not {"aiohttp", "grpc", "msgspec"} & sys.modules.keys()
"""


def run(*words: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command that has to succeed; returns what it prints."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    done = subprocess.run(
        words, cwd=cwd, env={**inherited, **environment}, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Environment:
    """A virtual environment."""

    def __init__(self, place: Path) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", place, cwd=ROOT)
        self.bin = place / "bin"
        self.site = place / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        theirs = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
        (self.site / "dependencies.pth").write_text("\n".join(theirs) + "\n")

    def install(self, *words: str | Path) -> set[str]:
        """Install with pip, without any index; returns what is new in site-packages."""
        before = {path.name for path in self.site.iterdir()}
        # The distribution that the other environment has counts as installed here.
        flags = ("--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed")
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.bin / "python")
        run(*pip, "install", *flags, *words, cwd=self.site)
        return {path.name for path in self.site.iterdir()} - before


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources: builds write into it."""
    copy = tmp_path_factory.mktemp("tree")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def sdist(tree: Path) -> Path:
    return built("sdist", tree)


@pytest.fixture(scope="module")
def wheel(tree: Path) -> Path:
    return built("wheel", tree)


def built(kind: str, tree: Path) -> Path:
    program = f"from setuptools import build_meta; build_meta.build_{kind}('dist')"
    run(sys.executable, "-c", program, cwd=tree)
    (made,) = (tree / "dist").glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of a user whose packages have the names of our floors."""
    place = tmp_path / "project"
    for name in FLOORS:
        (place / name).mkdir(parents=True)
        (place / name / "__init__.py").write_text(FOLDER_OF_THE_USER)
    (place / "test_of_the_user.py").write_text(TEST_OF_THE_USER)
    return place


@pytest.fixture(scope="module", params=["wheel", "sdist", "editable"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Of each kind one, with nothing new in it but the one package."""
    environment = Environment(tmp_path_factory.mktemp("venv"))
    if request.param == "editable":
        new = environment.install("-e", request.getfixturevalue("tree"))
        # setuptools writes a .pth file and a finder module, which lead to the tree.
        assert all(name.startswith("__editable__") or name.endswith((".dist-info", "__pycache__")) for name in new), new
    else:
        new = environment.install(request.getfixturevalue(request.param))
        assert {name for name in new if not name.endswith(".dist-info")} == {"actorlet"}
    assert len([name for name in new if name.endswith(".dist-info")]) == 1
    return environment


def test_all_that_lies_in_the_floors_is_in_wheel_and_sdist(tree: Path, wheel: Path, sdist: Path) -> None:
    wanted = {
        str(path.relative_to(tree))
        for name in ("actorlet", *FLOORS)
        for path in (tree / name).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    assert {name.partition("/")[0].removesuffix(".dist-info") for name in names} == {"actorlet", "actorlet-0.1.0"}
    below = {name.removeprefix("actorlet/_floors/") for name in names if ".dist-info/" not in name}
    assert below == wanted
    with tarfile.open(sdist) as source:
        assert wanted <= {name.partition("/")[2] for name in source.getnames()}


def test_a_wheel_rehearses_a_record(wheel: Path) -> None:
    night = ROOT / "examples" / "night"
    told = run(sys.executable, "-m", "actorlet", "rehearse", night, "--with", wheel, cwd=ROOT)
    assert "actorlet 0.1.0 decides all as recorded" in told


def test_a_project_with_folders_of_our_names_tests_with_a_cluster(installed: Environment, project: Path) -> None:
    printed = run(installed.bin / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert "1 passed" in printed


@pytest.mark.parametrize("words", [("actorlet",), ("python", "-m", "actorlet")], ids=" ".join)
def test_the_command_runs_beside_them(installed: Environment, project: Path, words: tuple[str, ...]) -> None:
    program, *options = words
    arguments = ("simulate", "--pods", "20", "--nodes", "1", "--json", "--quiet")
    printed = run(installed.bin / program, *options, *arguments, cwd=project, PYTHONPATH=str(project))
    assert '"pods":20' in printed.replace(" ", "")


def test_users_import_actorlet_and_no_floor(installed: Environment, tmp_path: Path) -> None:
    program = (
        "import actorlet, importlib.util as u; "
        f"print(actorlet.__version__, [name for name in {FLOORS} if u.find_spec(name)])"
    )
    assert run(installed.bin / "python", "-c", program, cwd=tmp_path) == "0.1.0 []\n"
