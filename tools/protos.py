"""Makes the Python modules of every `.proto` of the project: `python -m tools.protos`.

protoc makes the protobuf classes; `tools.struct_source` makes the structs and verbs of the CRI. With `--check` it
makes them in a temporary directory and fails when they differ from the committed ones. It needs exactly the version
of grpcio-tools that made them, which the `protos` environment of tox has; nothing else needs grpcio-tools.

`runtime.cri` imports the generated modules: restore them from git before you run this, if they do not import.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import tempfile
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from tools.struct_source import messages_source, verbs_source

GRPCIO_TOOLS = "1.85.1"
ROOT = Path(__file__).resolve().parents[1]
PROTO = Path("runtime/cri/v1/api.proto")
PROTOS = (
    PROTO,
    Path("runtime/probes/health_v1/health.proto"),
    Path("runtime/csi/v1/csi.proto"),
    Path("runtime/plugin_registration/v1/registration.proto"),
    Path("runtime/pod_resources/v1/pod_resources.proto"),
    Path("runtime/pod_resources/v1alpha1/pod_resources.proto"),
    Path("runtime/device_plugins/v1beta1/deviceplugin.proto"),
    Path("runtime/dra/v1/dra.proto"),
    Path("runtime/dra/v1alpha1/dra_health.proto"),
)
MESSAGES = PROTO.with_name("messages.py")
VERBS = PROTO.with_name("verbs.py")
MADE = (
    *(proto.with_name(f"{proto.stem}_pb2{end}") for proto in PROTOS for end in (".py", ".pyi")),
    MESSAGES,
    VERBS,
)


class ProtosError(Exception):
    """The modules cannot be made; the text says what to do."""


def generate(into: Path) -> None:
    """Write the modules under `into`, at the paths of `MADE`."""
    try:
        found = version("grpcio-tools")
    except PackageNotFoundError:
        found = "none"
    if found != GRPCIO_TOOLS:
        raise ProtosError(f"grpcio-tools {GRPCIO_TOOLS} is needed, {found} is installed: run `tox -e protos`")
    for proto in PROTOS:
        _protoc(proto, f"--python_out={into}", f"--pyi_out={into}")
    cri = _described(PROTO)
    (into / MESSAGES).write_text(messages_source(cri))
    (into / VERBS).write_text(verbs_source(cri))


def _protoc(proto: Path, *outputs: str) -> None:
    protoc = import_module("grpc_tools.protoc")
    if protoc.main(["protoc", f"--proto_path={ROOT}", *outputs, str(ROOT / proto)]) != 0:
        raise ProtosError(f"{proto} does not compile: see the lines above")


def _described(proto: Path) -> FileDescriptorProto:
    """What `proto` declares, with its comments."""
    with tempfile.NamedTemporaryFile() as file:
        _protoc(proto, "--include_source_info", f"--descriptor_set_out={file.name}")
        return FileDescriptorSet.FromString(file.read()).file[0]


def differences(made: Path) -> list[str]:
    """What differs between the modules under `made` and those of the project, as lines of a unified diff."""
    lines: list[str] = []
    for path in MADE:
        here = ROOT / path
        old = here.read_text().splitlines() if here.exists() else []
        new = (made / path).read_text().splitlines()
        lines += difflib.unified_diff(old, new, str(path), f"{path} (fresh)", lineterm="")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 done or no difference, 1 a difference, 2 cannot be made."""
    parser = argparse.ArgumentParser(prog="python -m tools.protos", description="Make the modules of all protos.")
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a difference")
    check = parser.parse_args(arguments).check
    try:
        if not check:
            generate(ROOT)
            return 0
        with tempfile.TemporaryDirectory() as directory:
            generate(Path(directory))
            lines = differences(Path(directory))
    except ProtosError as error:
        print(error, file=sys.stderr)
        return 2
    if lines:
        shown = [line if len(line) < 160 else f"{line[:157]}..." for line in lines[:40]]
        print("\n".join(shown), file=sys.stderr)
        print("a .proto and its modules differ: run `python -m tools.protos` and commit", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
