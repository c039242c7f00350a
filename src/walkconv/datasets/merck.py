"""The molecular activity sets of the Merck challenge (Ma et al. 2015)."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from walkconv._checks import check_integer, check_option
from walkconv.datasets._places import DatasetNotFoundError, data_folders

NAMES = (
    "3A4", "CB1", "DPP4", "HIVINT", "HIVPROT", "LOGD", "METAB", "NK1",
    "OX1", "OX2", "PGP", "PPB", "RAT_F", "TDI", "THROMBIN",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Merck:
    """One set of molecules: descriptors as columns, a measured activity as the target.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (n_molecules, n_features), float32
        How often each descriptor occurs in each molecule. Dense: without the rare descriptors a
        set fits in some tens of megabytes, and correlations and networks read it fastest so.
    y_train, y_test : ndarray of shape (n_molecules,), float64
        The activity.
    molecules_train, molecules_test : tuple of str
        Identifiers of the rows.
    feature_names : tuple of str
        Names of the columns, in the order of the training file.
    name, source : str
        Which set, and the folder it came from.
    min_active : int
        Training molecules in which a descriptor must be non-zero to be kept.
    n_training_only, n_test_only, n_rare : int
        Descriptors dropped: in only one of the files, or in both but too rare.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.datasets import Merck
    >>> X, y, molecules = np.ones((1, 2), dtype=np.float32), np.zeros(1), ("M_1",)
    >>> counts = {"min_active": 20, "n_training_only": 0, "n_test_only": 0, "n_rare": 0}
    >>> Merck(X, y, X, y, molecules, molecules, ("D_1", "D_2"), "TINY", "made here", **counts)
    Merck(X_train=(1, 2), X_test=(1, 2), 'TINY')
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    molecules_train: tuple[str, ...]
    molecules_test: tuple[str, ...]
    feature_names: tuple[str, ...]
    name: str
    source: str
    min_active: int
    n_training_only: int
    n_test_only: int
    n_rare: int

    @property
    def description(self) -> str:
        """What was kept and what was dropped, in a sentence or two."""
        return (
            f"{self.name}: {len(self.y_train)} training and {len(self.y_test)} test molecules, "
            f"{len(self.feature_names)} descriptors. Left out: {self.n_rare} active in fewer than "
            f"{self.min_active} training molecules, {self.n_training_only} only in the training "
            f"file, {self.n_test_only} only in the test file."
        )

    def __repr__(self) -> str:
        return f"Merck(X_train={self.X_train.shape}, X_test={self.X_test.shape}, {self.name!r})"


def load_merck(
    name: str, *, data_home: str | os.PathLike[str] | None = None, min_active: int = 20
) -> Merck:
    """Return one of the 15 Merck sets from its two CSV files.

    The files are ``<NAME>_training*.csv`` and ``<NAME>_test*.csv``, plain or gzipped, with the
    columns MOLECULE, Act and D_*. They are looked for in `data_home`, in the folder that
    ``$WALKCONV_DATA`` names and in the cache, and in the subfolders of each. They are not
    downloaded: they come with the supplement of Ma et al. 2015, doi:10.1021/ci500747n.

    Parameters
    ----------
    name : str
        3A4, CB1, DPP4, HIVINT, HIVPROT, LOGD, METAB, NK1, OX1, OX2, PGP, PPB, RAT_F, TDI or
        THROMBIN.
    data_home : path, optional
        A folder to look in first.
    min_active : int, default 20
        Keep the descriptors of both files that are non-zero in at least this number of training
        molecules, as the paper does: the correlations of rarer descriptors are not reliable.

    Returns
    -------
    Merck
        `X_train`, `y_train`, `X_test`, `y_test`, `feature_names`, the molecules, and counts of
        dropped descriptors, which `description` puts in words.

    Raises
    ------
    DatasetNotFoundError
        When no folder has both files; the message lists every folder.

    Examples
    --------
    >>> from walkconv.datasets import load_merck
    >>> load_merck("METAB", data_home="data").description  # doctest: +SKIP
    'METAB: 1569 training and 523 test molecules, 2243 descriptors. Left out: 2262 active in ...'
    """
    name = check_option(name.upper(), "name", NAMES)
    min_active = check_integer(min_active, "min_active", minimum=0)
    training_path, test_path = _find(name, data_home)
    train, test = _read(training_path), _read(test_path)
    common = set(train.columns) & set(test.columns)
    descriptors = [
        column for column in train.columns if column in common and column.startswith("D_")
    ]
    X_train = _descriptors(train, descriptors, training_path)
    is_kept = np.count_nonzero(X_train, axis=0) >= min_active
    kept = [column for column, keep in zip(descriptors, is_kept, strict=True) if keep]
    return Merck(
        X_train=np.ascontiguousarray(X_train[:, is_kept]),
        y_train=train["Act"].to_numpy(),
        X_test=_descriptors(test, kept, test_path),
        y_test=test["Act"].to_numpy(),
        molecules_train=tuple(train["MOLECULE"]),
        molecules_test=tuple(test["MOLECULE"]),
        feature_names=tuple(kept),
        name=name,
        source=str(training_path.parent),
        min_active=min_active,
        n_training_only=len(set(train.columns) - common),
        n_test_only=len(set(test.columns) - common),
        n_rare=len(descriptors) - len(kept),
    )


def _find(name: str, data_home: str | os.PathLike[str] | None) -> tuple[Path, Path]:
    """Return the training and the test file of the first folder that has both."""
    attempts = []
    for label, parent in data_folders(data_home):
        if not parent.is_dir():
            attempts.append((f"{label} {parent}", "no such folder"))
            continue
        subfolders = sorted(path for path in parent.iterdir() if path.is_dir())
        for folder in (parent, *subfolders):
            training, test = (_only_file(folder, f"{name}_{part}") for part in ("training", "test"))
            if training and test:
                return training, test
            if training or test:
                missing = "test" if training else "training"
                attempts.append((str(folder), f"no {name}_{missing}*.csv[.gz] beside the other"))
        attempts.append((f"{label} {parent}", f"no {name} files, neither here nor one folder down"))
    raise DatasetNotFoundError(
        f"The Merck set {name}",
        attempts,
        f"Put {name}_training.csv and {name}_test.csv (or the same with .gz) in a folder, and pass "
        "it as data_home or set the environment variable WALKCONV_DATA to it.",
    )


def _only_file(folder: Path, beginning: str) -> Path | None:
    found = [*folder.glob(f"{beginning}*.csv"), *folder.glob(f"{beginning}*.csv.gz")]
    if len(found) > 1:
        listed = ", ".join(sorted(path.name for path in found))
        raise ValueError(f"{folder} must have one file {beginning}*.csv[.gz]; it has {listed}.")
    return found[0] if found else None


def _read(path: Path) -> pl.DataFrame:
    """Return a file as a frame: MOLECULE as text, the rest as numbers."""
    columns = pl.read_csv(path, n_rows=0).columns
    missing = [column for column in ("MOLECULE", "Act") if column not in columns]
    if missing:
        raise ValueError(f"{path} must have the columns MOLECULE and Act; it has no {missing[0]}.")
    types = dict.fromkeys(columns, pl.Float32) | {"MOLECULE": pl.String, "Act": pl.Float64}
    try:
        frame = pl.read_csv(path, schema=types)
    except pl.exceptions.PolarsError as error:
        why = str(error).splitlines()[0]
        raise ValueError(f"{path} must be a table of numbers beside MOLECULE; {why}") from error
    for column in frame.columns:
        if frame[column].null_count():
            raise ValueError(f"{path} must have no empty cells; column {column} has some.")
    return frame


def _descriptors(frame: pl.DataFrame, columns: list[str], path: Path) -> np.ndarray:
    if not columns:
        raise ValueError(
            f"{path} must share descriptors D_* that are active often enough; none is left. "
            "Lower min_active or look at the files."
        )
    return np.ascontiguousarray(frame.select(columns).to_numpy())
