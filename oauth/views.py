"""The endpoints: what the server is (RFC 9728, RFC 8414), and how clients register, redeem and revoke."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from oauth2_provider.models import Grant
from oauth2_provider.oauth2_backends import get_oauthlib_core

from cortex.api.challenges import USUAL_SCOPES
from cortex.api.databases import trouble_of
from cortex.api.problems import RETRY_AFTER_SECONDS, problem_response
from oauth import clients
from oauth.redirects import sent_values
from oauth.resources import mcp_resource, server_resource

log = logging.getLogger(__name__)

METHODS: Final = ["none"]  # no client has a secret


def telling_of_trouble(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Answer 503 where the database gives none, so that a client comes back instead of giving up."""

    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except DatabaseError as error:
            trouble = trouble_of(error)
            if trouble is None:
                raise
            log.warning("the database did not answer", exc_info=None if trouble.passing else error)
            response = problem_response(503, trouble.detail)
            response["Retry-After"] = str(RETRY_AFTER_SECONDS)
            return response

    return guarded


def resource_metadata(request: HttpRequest) -> JsonResponse:
    """Describe all of the server as what tokens are for."""
    return _described(server_resource())


def mcp_metadata(request: HttpRequest) -> JsonResponse:
    return _described(mcp_resource())


def _described(resource: str) -> JsonResponse:
    return _public(
        {
            "resource": resource,
            "authorization_servers": [server_resource()],
            "scopes_supported": list(USUAL_SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Cortex",
        }
    )


def server_metadata(request: HttpRequest) -> JsonResponse:
    here = f"{server_resource()}/oauth"
    return _public(
        {
            "issuer": server_resource(),
            "authorization_endpoint": f"{here}/authorize",
            "token_endpoint": f"{here}/token",
            "revocation_endpoint": f"{here}/revoke",
            "registration_endpoint": f"{here}/register",
            "scopes_supported": list(USUAL_SCOPES),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": METHODS,
            "revocation_endpoint_auth_methods_supported": METHODS,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": settings.OAUTH2_PROVIDER["CIMD_ENABLED"],
        }
    )


def _public(document: dict[str, Any]) -> JsonResponse:
    return JsonResponse(document, headers={"Access-Control-Allow-Origin": "*"})


@csrf_exempt
@require_POST
@telling_of_trouble
def register(request: HttpRequest) -> HttpResponse:
    return clients.register(request)


@csrf_exempt
@require_POST
@telling_of_trouble
def token(request: HttpRequest) -> HttpResponse:
    """Redeem a code, or refresh."""
    return _from_library(request, get_oauthlib_core().create_token_response)


@csrf_exempt
@require_POST
@telling_of_trouble
def revoke(request: HttpRequest) -> HttpResponse:
    """End a token and all that belongs to it (RFC 7009)."""
    return _from_library(request, get_oauthlib_core().create_revocation_response)


def _from_library(request: HttpRequest, answer: Callable[[HttpRequest], Any]) -> HttpResponse:
    if any("\0" in value for value in sent_values(request)):
        return JsonResponse({"error": "invalid_request"}, status=400)
    try:
        _, headers, body, status = answer(request)
    except Grant.DoesNotExist:  # the code was redeemed by somebody else a moment ago
        return JsonResponse({"error": "invalid_grant"}, status=400)
    return HttpResponse(body or "", status=status, headers=headers)
