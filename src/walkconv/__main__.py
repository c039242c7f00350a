"""``python -m walkconv`` is the command ``walkconv``."""

from walkconv.cli.main import main

main()
