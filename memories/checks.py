"""What Django's system checks ask of this app before a server starts or a command runs."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from memories.search.embedding import lack_of


@register
def the_named_embedder_is_installed(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> list[CheckMessage]:
    lack = lack_of(settings.CORTEX_EMBEDDER)
    return [Error(lack, id="memories.E001")] if lack else []
