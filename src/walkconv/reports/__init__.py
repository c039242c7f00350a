"""A fitted model and test rows become a summary, and a summary becomes a page."""

import lazy_loader

# Lazily: jinja2 is read when the first page is made.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
