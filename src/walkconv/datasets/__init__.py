"""The data sets of the paper, from a folder, a cache or the network.

Loaders look in `data_home`, in the folder that the environment variable ``WALKCONV_DATA`` names,
and in the cache (``WALKCONV_CACHE``, or `walkconv` in the user's cache folder).

Examples
--------
>>> import walkconv
>>> mnist = walkconv.datasets.load_mnist()  # doctest: +SKIP
>>> mnist.X_train.shape  # doctest: +SKIP
(60000, 784)
"""

from ._places import DatasetNotFoundError
from .cifar10 import Cifar10, load_cifar10
from .merck import Merck, load_merck
from .mnist import Mnist, load_mnist
from .tu import GraphCollection, load_tu

__all__ = [
    "Cifar10",
    "DatasetNotFoundError",
    "GraphCollection",
    "Merck",
    "Mnist",
    "load_cifar10",
    "load_merck",
    "load_mnist",
    "load_tu",
]
