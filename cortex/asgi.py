"""An ASGI entry point for hosts that speak nothing else; the server itself is synchronous."""

import os
from importlib import import_module

from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cortex.settings")
application = get_asgi_application()
import_module("cortex.api.meters").meters.start(settings.METRICS_DIR)
import_module("memories.search.worker").worker.start()
import_module("memories.proposing.worker").worker.start()
