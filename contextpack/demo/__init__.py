"""The protocol proven on a live server: a client, a throw-away server, memories of our own, and the acts.

The acts are clients like any other: they know the protocol and the wire, never the server's own code.
"""
