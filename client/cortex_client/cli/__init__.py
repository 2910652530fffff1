"""The command `cortex`: what `cortex_client` can do, for people at a terminal and for scripts.

0   done
1   nothing found: no memory answers, or there is no such ref
2   the command line, or a file that it names, is wrong
3   the server refused
4   there is no token, or it may not do that
5   the server could not be reached, or its answer broke off
6   the server is busy: later it may do
130 stopped with Ctrl-C
141 whoever read the output stopped reading
"""

from cortex_client.cli.running import main

__all__ = ["main"]
