"""Architectures become networks, and networks are trained."""

import lazy_loader

# Loaded on first use: reading an architecture needs no torch.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
