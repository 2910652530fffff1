"""The WSGI entry point that gunicorn loads."""

import os

from django.core.wsgi import get_wsgi_application

from cortex.api.bodies import accept_chunks

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cortex.settings")
application = accept_chunks(get_wsgi_application())
