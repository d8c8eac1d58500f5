"""``python -m seepage``."""

from seepage.cli.main import main

main()
