"""Container images made on the spot from the machine's static busybox: no network, no other tool.

Every image shares one layer with busybox, links for its applets, a user `app` (1000) and the usual directories. An
image is its blobs by digest; `archive` packs several into an OCI archive, and `tests.real.registry` pushes one.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import subprocess
import tarfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
FOREVER = "2147483647"


@dataclass(frozen=True)
class Recipe:
    """An image: its name, the visible part of its config, and its size beside busybox."""

    name: str
    config: dict[str, Any] = field(default_factory=dict)
    payload_bytes: int = 0


@dataclass(frozen=True)
class Image:
    """A built image: `blobs` holds config and layers by digest."""

    name: str
    manifest: bytes
    blobs: dict[str, bytes]

    @property
    def digest(self) -> str:
        return digest_of(self.manifest)


PAUSE = "actorlet.test/pause:1"
BUSYBOX = "actorlet.test/busybox:1"
RECIPES = (
    Recipe(PAUSE, {"Entrypoint": ["/bin/busybox", "sleep", FOREVER]}),
    Recipe(BUSYBOX, {"Cmd": ["sh"]}),
    Recipe("actorlet.test/busybox:latest", {"Cmd": ["sh"]}),
    Recipe("actorlet.test/busybox:2", {"Cmd": ["sh"], "Env": ["VERSION=2"]}),
    Recipe(
        "actorlet.test/entrypoint:1",
        {
            "Entrypoint": ["/bin/sh", "-c", 'echo "$GREETING $*"; sleep 2147483647', "entry"],
            "Cmd": ["from", "image"],
            "Env": ["GREETING=hello", "PATH=/bin"],
            "WorkingDir": "/work",
        },
    ),
    Recipe("actorlet.test/user-name:1", {"Cmd": ["sleep", FOREVER], "User": "app"}),
    Recipe("actorlet.test/stop-signal:1", {"Cmd": ["sleep", FOREVER], "StopSignal": "SIGUSR1"}),
    Recipe("actorlet.test/user-ghost:1", {"Cmd": ["sleep", FOREVER], "User": "ghost"}),
    Recipe("actorlet.test/user-id:1", {"Cmd": ["sleep", FOREVER], "User": "1000:1000"}),
)


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def build(recipe: Recipe) -> Image:
    """The image of a recipe; the same recipe gives the same digests on the same machine."""
    layers = [_busybox_layer()]
    if recipe.payload_bytes:
        layers.append(_payload_layer(recipe.name, recipe.payload_bytes))
    config = _json(
        {
            "architecture": _architecture(),
            "os": "linux",
            "config": {"Env": ["PATH=/bin"], **recipe.config},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(layer) for layer in layers]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": _descriptor(CONFIG_TYPE, config),
            "layers": [_descriptor(LAYER_TYPE, layer) for layer in layers],
        }
    )
    return Image(recipe.name, manifest, {digest_of(blob): blob for blob in (config, *layers)})


def archive(images: list[Image], path: Path) -> None:
    """Write an OCI archive that `ctr images import` takes, every image under its name."""
    blobs = {digest: blob for image in images for digest, blob in image.blobs.items()}
    index = []
    for image in images:
        blobs[image.digest] = image.manifest
        named = {"io.containerd.image.name": image.name}
        index.append({**_descriptor(MANIFEST_TYPE, image.manifest), "annotations": named})
    with tarfile.open(path, "w") as tar:
        _file(tar, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _file(tar, "index.json", _json({"schemaVersion": 2, "manifests": index}))
        for digest, blob in blobs.items():
            _file(tar, f"blobs/sha256/{digest.removeprefix('sha256:')}", blob)


@cache
def _busybox_layer() -> bytes:
    busybox = Path(which("busybox") or "/bin/busybox")
    applets = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split()
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("tmp", 0o1777), ("work", 0o777), ("root", 0o700)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        _file(tar, "bin/busybox", busybox.read_bytes(), 0o755)
        for applet in sorted(set(applets) - {"busybox"}):
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
        _file(tar, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000:app:/work:/bin/sh\n")
        _file(tar, "etc/group", b"root:x:0:\napp:x:1000:\nextra:x:2000:app\n")
    return held.getvalue()


def _payload_layer(seed: str, size: int) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        _file(tar, "payload", random.Random(seed).randbytes(size))
    return held.getvalue()


def _file(tar: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))


def _descriptor(media_type: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data)}


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _architecture() -> str:
    import platform

    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
