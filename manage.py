#!/usr/bin/env python
"""Cortex's command line; `manage.py help` lists the commands."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cortex.settings")
    # Before numpy is loaded: a second BLAS thread only gets in the way of the first where cores are busy.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"Cortex cannot start: {error}")
