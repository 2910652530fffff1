"""The WSGI entry point that gunicorn loads."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from cortex.api.bodies import accept_chunks

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cortex.settings")
application = accept_chunks(get_wsgi_application())
# Models are made ready only now: none can be imported before Django is.
import_module("cortex.api.meters").meters.start(settings.METRICS_DIR)
import_module("memories.search.worker").worker.start()
import_module("memories.proposing.worker").worker.start()
