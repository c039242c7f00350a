"""Where no kernel was built, the tests run on torch, which is then no reason for a warning."""

import os

from walkconv.conv import native

if not native.supported():
    os.environ.setdefault("WALKCONV_ENGINE", "torch")
