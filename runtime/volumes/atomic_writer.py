"""Files that change all at once: no reader sees a mix of two versions (spec 8.7).

Theory of operation. All files of one version lie in a directory of their own; a link `..data` says which version
counts, and what users open are links through it:

    ..2026_11_21_09_30_00.x7kq2m4d/        the version: mode 0755, the files below it
    ..data -> ..2026_11_21_09_30_00.x7kq2m4d
    app.conf -> ..data/app.conf            one link for each first component of a path
    certs -> ..data/certs

A new version is written aside. Links for new names are made while they still lead nowhere. Then one rename replaces
`..data`, and every name turns from the old content to the new. Links of names that are gone and the old version are
removed last. So at any moment the links lead to the old content or to the new, also after a crash; the next run removes
what was left. Listing the directory is not atomic: around a change a link may be seen that leads nowhere.

A version that has the very content, modes and owners asked for is left alone. `payload_steps` is the work itself with
a pause after every step, so that tests may die at each of them; `write_payload` runs it to its end.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import tempfile
import time
from collections.abc import Container, Generator, Iterator, Mapping

from runtime.files.tree import remove_tree
from runtime.volumes.capability import Payload, VolumeFailedError, VolumeFile

DATA = "..data"
_NEW_DATA = "..data_tmp"
_NEW_LINK = "..link_tmp"
_VERSION = re.compile(r"\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.")
_VERSION_FORMAT = "..%Y_%m_%d_%H_%M_%S."

VERSION_MODE = 0o755
GROUP_FILE_BITS = 0o440
GROUP_DIRECTORY_BITS = stat.S_ISGID | 0o550
"""The mode bits of directories for an fsGroup, on volumes that are read-only for their pods."""

PATH_BYTES_MAX = 4096
COMPONENT_BYTES_MAX = 255

SWAPPED = "swapped"
"""After this step the new content is in effect."""


def write_payload(directory: str, payload: Payload, group: int | None = None) -> bool:
    """Make `payload` the content of the existing `directory`; True when that changed it.

    `group`, where given, comes to own everything and may read it. Raises OSError, and VolumeFailedError for a payload
    that cannot be written.
    """
    changed = False
    for step in payload_steps(directory, payload, group):
        changed = changed or step == SWAPPED
    return changed


def payload_steps(directory: str, payload: Payload, group: int | None = None) -> Generator[str, None, None]:
    """`write_payload`, with a pause after each step that changes something. The text names the step."""
    files = checked(payload)
    names = sorted({path.partition("/")[0] for path in files})
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # An abandoned call may still run here; two writers would remove each other's versions.
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise VolumeFailedError(f"{directory} is still being written by an earlier call") from None
        current = _current(directory)
        # First, and not only at the end: what an interrupted run has left may be what fills a small volume.
        yield from _remove_versions(directory, current)
        if current is None or not _holds(os.path.join(directory, current), files, group):
            version = yield from _write_version(directory, files, group)
            yield from _make_links(directory, names)
            _turn(directory, version)
            yield SWAPPED
            current = version
        else:
            yield from _make_links(directory, names)
        yield from _remove_links(directory, frozenset(names))
        yield from _remove_versions(directory, current)
    finally:
        os.close(descriptor)


def has_content(directory: str) -> bool:
    """Whether a payload was written there completely."""
    return _current(directory) is not None


def checked(payload: Payload) -> dict[str, VolumeFile]:
    """The payload under tidy paths, sorted.

    Raises VolumeFailedError for a path that leads elsewhere or cannot be.
    """
    files: dict[str, VolumeFile] = {}
    for path, file in payload.items():
        files[_tidy(path)] = file
    above = None
    for path in sorted(files, key=lambda path: path.replace("/", "\0")):  # what lies in a directory follows it at once
        if above is not None and path.startswith(f"{above}/"):
            raise VolumeFailedError(f"{above!r} cannot be a file, because {path!r} is to lie in it")
        above = path
    return dict(sorted(files.items()))


def _tidy(path: str) -> str:
    if not path or path.startswith("/"):
        raise VolumeFailedError(f"{path!r} is not the path of a file in a volume: it must be relative and not empty")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or "\0" in path:
        raise VolumeFailedError(f"{path!r} names no file")
    if ".." in parts:
        raise VolumeFailedError(f"{path!r} must not contain '..'")
    if parts[0].startswith(".."):
        raise VolumeFailedError(f"{path!r} must not begin with '..'")
    if len(os.fsencode(path)) > PATH_BYTES_MAX:
        raise VolumeFailedError(f"a path of a file in a volume has more than {PATH_BYTES_MAX} bytes: {path[:80]!r}...")
    for part in parts:
        if len(os.fsencode(part)) > COMPONENT_BYTES_MAX:
            raise VolumeFailedError(
                f"a name of a file in a volume has more than {COMPONENT_BYTES_MAX} bytes: {part[:80]}..."
            )
    return "/".join(parts)


# --- versions -----------------------------------------------------------------------------------------------------


def _current(directory: str) -> str | None:
    """The name of the version that counts; None when there is none, or none that could be ours."""
    try:
        name = os.readlink(os.path.join(directory, DATA))
        if _VERSION.match(name) and "/" not in name and stat.S_ISDIR(os.lstat(os.path.join(directory, name)).st_mode):
            return name
    except OSError:
        pass
    return None


def _holds(version: str, files: Mapping[str, VolumeFile], group: int | None) -> bool:
    """Whether a version has exactly these files, with their content, modes and owners."""
    found = set(_paths_in(version, ""))
    return (
        found == files.keys()
        and all(_has_looks(os.path.join(version, path), file, group) for path, file in files.items())
        and all(_has_data(os.path.join(version, path), file.data) for path, file in files.items())
    )


def _paths_in(directory: str, prefix: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _paths_in(entry.path, f"{prefix}{entry.name}/")
            else:
                yield prefix + entry.name


def _has_looks(path: str, file: VolumeFile, group: int | None) -> bool:
    """Whether the file has this size, mode and owner; cheap to know of all files before any is read."""
    info = os.lstat(path)
    if not stat.S_ISREG(info.st_mode) or info.st_size != len(file.data):
        return False
    if stat.S_IMODE(info.st_mode) != _mode_of(file, group):
        return False
    return (file.uid is None or info.st_uid == file.uid) and (group is None or info.st_gid == group)


def _has_data(path: str, data: bytes) -> bool:
    with open(path, "rb") as content:
        return content.read() == data


def _mode_of(file: VolumeFile, group: int | None) -> int:
    return file.mode if group is None else file.mode | GROUP_FILE_BITS


def _write_version(directory: str, files: Mapping[str, VolumeFile], group: int | None) -> Generator[str, None, str]:
    version = tempfile.mkdtemp(prefix=time.strftime(_VERSION_FORMAT, time.gmtime()), dir=directory)
    yield "version made"
    made = {""}
    _open_directory(version, group)
    for path, file in files.items():
        for below in _missing_directories(path, made):
            made.add(below)
            os.mkdir(os.path.join(version, below))
            _open_directory(os.path.join(version, below), group)
        _write_file(os.path.join(version, path), file, group)
        yield f"written {path}"
    return os.path.basename(version)


def _missing_directories(path: str, made: Container[str]) -> list[str]:
    """The directories of a file that are not among those made, outermost first."""
    missing: list[str] = []
    above = path.rpartition("/")[0]
    while above not in made:
        missing.append(above)
        above = above.rpartition("/")[0]
    return missing[::-1]


def _open_directory(path: str, group: int | None) -> None:
    mode = VERSION_MODE
    if group is not None:
        os.chown(path, -1, group)
        mode |= GROUP_DIRECTORY_BITS
    os.chmod(path, mode)


def _write_file(path: str, file: VolumeFile, group: int | None) -> None:
    # It may be a key: nobody may read it before it has its owner.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as content:
        content.write(file.data)
        content.flush()
        if file.uid is not None or group is not None:
            os.fchown(descriptor, -1 if file.uid is None else file.uid, -1 if group is None else group)
        os.fchmod(descriptor, _mode_of(file, group))


def _turn(directory: str, version: str) -> None:
    _link(directory, DATA, version, _NEW_DATA)


def _remove_versions(directory: str, current: str | None) -> Iterator[str]:
    """Remove every version but the current one."""
    for name in sorted(os.listdir(directory)):
        if _VERSION.match(name) and name != current:
            remove_tree(os.path.join(directory, name))
            yield f"removed {name}"


# --- links --------------------------------------------------------------------------------------------------------


def _make_links(directory: str, names: list[str]) -> Iterator[str]:
    for name in names:
        target = f"{DATA}/{name}"
        try:
            if os.readlink(os.path.join(directory, name)) == target:
                continue
        except FileNotFoundError:
            pass
        except OSError:
            raise VolumeFailedError(
                f"{name!r} in the volume is taken by a mount point below it; choose another"
            ) from None
        _link(directory, name, target, _NEW_LINK)
        yield f"linked {name}"


def _remove_links(directory: str, names: frozenset[str]) -> Iterator[str]:
    """Links of ours that no file of this version is behind."""
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        stale = name in (_NEW_DATA, _NEW_LINK) or (name not in names and _is_ours(path, name))
        if stale:
            os.unlink(path)
            yield f"unlinked {name}"


def _is_ours(path: str, name: str) -> bool:
    try:
        return os.readlink(path) == f"{DATA}/{name}"
    except OSError:
        return False


def _link(directory: str, name: str, target: str, aside: str) -> None:
    """Make or turn a link in one moment, by way of another."""
    new = os.path.join(directory, aside)
    try:
        os.symlink(target, new)
    except FileExistsError:
        os.unlink(new)
        os.symlink(target, new)
    os.rename(new, os.path.join(directory, name))
