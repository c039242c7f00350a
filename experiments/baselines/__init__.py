"""The other methods of the paper's literature section, as estimators.

``BASELINES["chebnet"]["classification"]("C20-FC512", n_neighbors=6)`` takes the settings of
`walkconv.GraphCNNClassifier` and is trained by the same code. One file each holds a convolution and
its formula. A filter has ``n_neighbors`` weights per input channel where the method lets one choose
(ChebNet, smooth spectral, local); `architecture_at_budget` evens out the others.
"""

from .budget import architecture_at_budget, count_weights
from .chebnet import ChebNetConv
from .diffusion import DiffusionConv
from .estimators import estimators_with
from .gcn import KipfConv
from .local import LocalConv
from .spectral import FreeSpectralConv, SmoothSpectralConv

CONVOLUTIONS = {
    "spectral": SmoothSpectralConv,
    "spectral-free": FreeSpectralConv,
    "chebnet": ChebNetConv,
    "gcn": KipfConv,
    "dcnn": DiffusionConv,
    "local": LocalConv,
}
BASELINES = {name: estimators_with(convolution) for name, convolution in CONVOLUTIONS.items()}

__all__ = [
    "BASELINES",
    "CONVOLUTIONS",
    "architecture_at_budget",
    "count_weights",
    "estimators_with",
]
