"""The REST border: each view translates in, calls one verb, translates out."""
