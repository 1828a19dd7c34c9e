"""emptyDir: a directory that lives as long as its pod, on disk, in memory or in huge pages (spec 8.7).

Anybody in the pod may write to it (0777). In memory it is sticky, too (01777), as the kernel makes a tmpfs. With an
fsGroup it belongs to that group and so does what is put into it. In memory it is as large as the smallest of the node's
memory, the pod's memory limit and the volume's own `sizeLimit`; in huge pages (`empty_dir_pages`) as its `sizeLimit`
says. On disk this module ignores the `sizeLimit`.

Once it is made, a file says so, `<pod>/plugins/kubernetes.io~empty-dir/<volume>/ready`, and nothing in the volume is
touched from then on: its containers may have given it another mode.
"""

from __future__ import annotations

import contextlib
import os
import stat

from config.objects import Container, Pod, PodSpec, Volume
from config.pods.identity import is_sidecar
from config.pods.once_per_spec import once_per_spec
from config.values.quantity import parse_quantity
from runtime.files.directories import make_directories
from runtime.files.whole_file import remove_partials, write_whole
from runtime.volumes.capability import Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec
from runtime.volumes.empty_dir_pages import HUGE_PAGES, mount_options, page_bytes
from runtime.volumes.mounts import Mounts

MEMORY = "Memory"
READY = "ready"
_BOOKKEEPING_MODE = 0o750
_MODE = 0o777
_MODE_IN_MEMORY = _MODE | stat.S_ISVTX


class EmptyDirPlugin(VolumePlugin):
    """See the module. `memory_bytes` is what pods of this node may use at most."""

    source = "empty_dir"

    def __init__(self, mounts: Mounts, memory_bytes: int) -> None:
        self._mounts = mounts
        self._memory_bytes = memory_bytes

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        source, directory = spec.volume.empty_dir, place.directory
        medium = (source.medium if source is not None else None) or ""
        limit = source.size_limit if source is not None else None
        if self._is_made(place, on_disk=not medium):
            return directory
        if not medium:
            make_empty_dir(pod, directory)
        elif medium == MEMORY:
            make_empty_dir(pod, directory, self._mounts, memory_size_bytes(pod, spec.volume, self._memory_bytes))
        elif medium.startswith(HUGE_PAGES):
            options = mount_options(page_bytes(pod, medium), parse_quantity(limit).value() if limit else 0)
            make_directory(directory)
            if not self._mounts.is_mount_point(directory):
                self._mounts.mount("hugetlbfs", os.path.realpath(directory), "hugetlbfs", options)
            _open_to_all(directory, pod)
        else:
            raise VolumeFailedError(
                f"{medium} is not a medium of an emptyDir; use Memory, {HUGE_PAGES}, or none for disk"
            )
        self._note_made(place)
        return directory

    def release(self, place: VolumePlace) -> None:
        """Remove the file that says the volume is made, or the part of it that an agent wrote before it died.

        The mount and the files below the directory are removed by the caller.
        """
        bookkeeping = _bookkeeping(place)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(bookkeeping, READY))
        with contextlib.suppress(FileNotFoundError):
            remove_partials(bookkeeping)
            os.rmdir(bookkeeping)

    def _is_made(self, place: VolumePlace, *, on_disk: bool) -> bool:
        if not os.path.exists(os.path.join(_bookkeeping(place), READY)):
            return False
        return os.path.isdir(place.directory) if on_disk else self._mounts.is_mount_point(place.directory)

    def _note_made(self, place: VolumePlace) -> None:
        bookkeeping = _bookkeeping(place)
        make_directories(bookkeeping, _BOOKKEEPING_MODE)
        write_whole(os.path.join(bookkeeping, READY), b"", lasting=False)


def _bookkeeping(place: VolumePlace) -> str:
    """`<pod>/plugins/<plugin>/<volume>`."""
    plugin = os.path.dirname(place.directory)
    pod = os.path.dirname(os.path.dirname(plugin))
    return os.path.join(pod, "plugins", os.path.basename(plugin), os.path.basename(place.directory))


def make_empty_dir(pod: Pod, directory: str, mounts: Mounts | None = None, size_bytes: int = 0) -> None:
    """A directory that anybody in the pod may write to; with `mounts` in memory. Raises OSError."""
    make_directory(directory)
    if mounts is not None and not mounts.is_mount_point(directory):
        mounts.mount_tmpfs(os.path.realpath(directory), size_bytes)
    _open_to_all(directory, pod, _MODE if mounts is None else _MODE_IN_MEMORY)


def make_directory(directory: str) -> None:
    """Make the directory of a volume; the caller sets its mode or mounts over it. Raises OSError."""
    make_directories(os.path.dirname(directory), 0o750)
    try:
        os.mkdir(directory, mode=0o750)
    except FileExistsError:
        if not os.path.isdir(directory) or os.path.islink(directory):
            raise


def fs_group(pod: Pod) -> int | None:
    """The group that the pod's volumes belong to."""
    context = pod.spec.security_context
    return context.fs_group if context is not None else None


def memory_size_bytes(pod: Pod, volume: Volume, node_bytes: int) -> int:
    """The size limit of an emptyDir in memory; 0 when nothing limits it."""
    limit = volume.empty_dir.size_limit if volume.empty_dir is not None else None
    own_bytes = parse_quantity(limit).value() if limit else 0
    limits = (node_bytes, memory_limit_bytes(pod), own_bytes)
    return min((each for each in limits if each > 0), default=0)


def memory_limit_bytes(pod: Pod) -> int:
    """The pod's memory limit; 0 when one of its containers has none."""
    return _memory_limit_bytes(pod.spec)


@once_per_spec
def _memory_limit_bytes(spec: PodSpec) -> int:
    """Each of thousands of volumes may ask for it."""
    if spec.resources is not None and (text := spec.resources.limits.get("memory")):
        return parse_quantity(text).value()
    together = [_limit_bytes(container) for container in spec.containers]
    at_first = [_limit_bytes(container) for container in spec.init_containers if not is_sidecar(container)]
    together += [_limit_bytes(container) for container in spec.init_containers if is_sidecar(container)]
    if 0 in together or 0 in at_first:
        return 0
    return max(sum(together), *at_first, 0)


def _limit_bytes(container: Container) -> int:
    limits = container.resources.limits if container.resources is not None else {}
    text = limits.get("memory")
    return parse_quantity(text).value() if text else 0


def _open_to_all(directory: str, pod: Pod, mode: int = _MODE) -> None:
    """Mode and group of the directory itself; what containers have put into it is theirs."""
    group = fs_group(pod)
    info = os.stat(directory)
    if group is not None:
        mode |= stat.S_ISGID
        if info.st_gid != group:
            os.chown(directory, -1, group)
    if stat.S_IMODE(info.st_mode) != mode:
        os.chmod(directory, mode)
