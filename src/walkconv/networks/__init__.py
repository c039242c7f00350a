"""Architectures become networks: parse the string, build the levels, make the module."""

import lazy_loader

# Loaded on first use: parsing an architecture needs no torch.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
