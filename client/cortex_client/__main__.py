"""`python -m cortex_client` is the command `cortex`."""

import sys

from cortex_client.cli import main

if __name__ == "__main__":
    sys.exit(main())
