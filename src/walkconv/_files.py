"""Write files whole or not at all, and let one process at a time write a checkpoint."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from walkconv._checks import as_path

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to, which becomes `path` when the block ends without an error.

    A reader sees the old file or the new file, never a part of it, even after a crash: the data is
    on the disk before the file is renamed. The folder must exist. A file that is replaced keeps its
    permissions; a new one follows the umask. What killed processes left of earlier writes to `path`
    is removed. A path that is not a plain file, such as a pipe or ``/dev/null``, is written
    directly.
    """
    target = _resolved(path)
    check_writable(path)
    if _is_device(target):
        yield target
        return
    _remove_leftovers(target)
    part, number = _create_part(target)
    try:
        yield part
        with suppress(FileNotFoundError):  # otherwise the permissions of a new file
            os.chmod(part, stat.S_IMODE(os.stat(target).st_mode))
        os.fsync(number)
        os.replace(part, target)
        if hasattr(os, "O_DIRECTORY"):
            _force_to_disk(target.parent)
    finally:
        os.close(number)
        part.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Reject a path that `whole_file` could not write. Call it before a long computation."""
    target = _resolved(path)
    try:
        mode = os.stat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise OSError(f"{path} must be a path to a file; {_reason(error)}.") from None
    else:
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{path} must be a file; it is a folder. Name a file in it.")
        if not stat.S_ISREG(mode):
            return
        if not os.access(target, os.W_OK):
            raise PermissionError(
                f"{path} must be writable; its permissions do not allow it. Change them or choose "
                "another name."
            )
    folder = target.parent
    # Not created here: a mistyped path would put the file where the user does not look for it.
    if not folder.exists():
        raise FileNotFoundError(
            f"{path} must be in a folder that exists; {folder} does not. Create it first."
        )
    if not folder.is_dir():
        raise NotADirectoryError(f"{path} must be in a folder; {folder} is a file.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(
            f"{path} must be in a folder that can be written to; {folder} cannot. Choose another "
            "folder or change its permissions."
        )


@contextmanager
def only_user(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep every other process and thread from using a checkpoint inside the block.

    The lock is on a hidden file beside it, which is removed at the end. The system releases the
    lock of a process that was killed. Where the file system has no locks nothing is kept.
    """
    target = _resolved(path)
    check_writable(path)
    if _is_device(target):
        raise OSError(f"The checkpoint {path} must be a file; it is a pipe or a device.")
    lock = target.with_name(f"{_prefix(target)}lock")
    number = _open_locked(lock)
    if number is None:
        raise BlockingIOError(
            f"The checkpoint {path} must have one user at a time; another call is using it. Wait "
            "until it ends, or choose another checkpoint."
        )
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(number)


def _resolved(path: str | os.PathLike[str]) -> Path:
    """Return the path behind links; a circle of links stays, and is refused where it is used."""
    return Path(os.path.realpath(as_path(path)))


def _is_device(target: Path) -> bool:
    return target.exists() and not target.is_file()


def _prefix(target: Path) -> str:
    """Return how the hidden files beside `target` begin: short, and of no other target."""
    return f".walkconv-{blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}."


def _create_part(target: Path) -> tuple[Path, int]:
    """Return a new file beside `target` and its locked descriptor: locked means in use."""
    mode = 0o666
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.stat(target).st_mode)  # what it replaces may be secret
    while True:
        part = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.part")
        number = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode | stat.S_IWUSR)
        if _lock(number) is not False and _is_same_file(number, part):
            return part, number
        os.close(number)  # taken for a leftover before it was locked


def _remove_leftovers(target: Path) -> None:
    """Remove the unfinished files of processes that were killed; a live one holds its lock."""
    prefix = _prefix(target)
    names = [entry for entry in os.listdir(target.parent) if entry.startswith(prefix)]
    for name in names:
        if not name.endswith(".part"):
            continue
        with suppress(OSError):  # another user's, or removed by another process
            number = os.open(target.with_name(name), os.O_RDWR)
            try:
                if _lock(number):
                    os.unlink(target.with_name(name))
            finally:
                os.close(number)


def _open_locked(path: Path) -> int | None:
    """Return the descriptor of a locked file that is made if need be, None if it is in use."""
    while True:
        number = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        if _lock(number) is False:
            os.close(number)
            return None
        if _is_same_file(number, path):
            return number
        os.close(number)  # the process that held it has just removed it


def _lock(number: int) -> bool | None:
    """Lock an open file and tell whether that worked; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL):
            return None
        raise
    return True


def _is_same_file(number: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), os.stat(path))
    except FileNotFoundError:
        return False


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _force_to_disk(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
