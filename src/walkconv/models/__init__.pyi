from .architecture import Convolution as Convolution
from .architecture import FullyConnected as FullyConnected
from .architecture import Pooling as Pooling
from .architecture import format_architecture as format_architecture
from .architecture import parse_architecture as parse_architecture
from .hierarchy import Level as Level
from .hierarchy import build_levels as build_levels
from .network import Network as Network
