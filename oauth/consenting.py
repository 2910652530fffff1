"""`/oauth/authorize`: a signed-in person is asked, and says which vault a client may use, and how."""

from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from oauth2_provider.exceptions import FatalClientError, OAuthToolkitError
from oauth2_provider.models import Application
from oauth2_provider.oauth2_backends import get_oauthlib_core
from oauthlib.oauth2.rfc6749.errors import AccessDeniedError, CustomOAuth2Error, OAuth2Error

from cortex.api.problems import problem_response
from memories.admin.scoping import chosen_vault
from memories.models import Scope, Vault
from oauth.clients import proven_host
from oauth.models import client_name, scopes_to_give
from oauth.redirects import is_local, policy_for, redirect_to, sent_values, shown_target
from oauth.resources import resource_of

MEANING: Final = {
    Scope.READ: "read what the vault remembers",
    Scope.WRITE: "write, correct and forget memories",
    Scope.REVIEW: "approve what waits for a person, in your name",
    Scope.ADMIN: "everything, with export and import of the whole vault",
}
TICKED: Final = (Scope.READ, Scope.WRITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request that holds: by whom, for what, and where the answer goes."""

    client: Application
    scopes: list[Scope]
    resource: str
    redirect_uri: str
    credentials: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What the person allowed; the validator stores it beside the code."""

    vault: Vault
    resource: str


class ConsentForm(forms.Form):
    vault: "forms.ModelChoiceField[Vault]" = forms.ModelChoiceField(
        Vault.objects.order_by("slug"), empty_label=None, help_text="It sees no other."
    )
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, label="It may", error_messages={"required": "Tick at least one."}
    )

    def __init__(self, *args: Any, offered: list[Scope], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["scopes"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(scope.value, f"{MEANING[scope]} ({scope})") for scope in offered]


def authorize(request: HttpRequest) -> HttpResponseBase:
    """Ask whoever may use the admin; lead anybody else to the login first."""
    if request.method not in {"GET", "HEAD", "POST"}:
        return problem_response(405, "A browser comes here")
    return admin.site.admin_view(_ask)(request)


def _ask(request: HttpRequest) -> HttpResponse:
    if any("\0" in value for value in sent_values(request)):
        return problem_response(400, "NUL bytes are no text")
    core = get_oauthlib_core()
    try:
        asked = _read(core, request)
        if request.method == "POST":
            return _answer(core, request, asked)
    except FatalClientError as error:
        return _refuse(request, error.oauthlib_error)
    except OAuthToolkitError as error:
        return _lead_back(error.oauthlib_error)
    return _page(request, asked, ConsentForm(offered=_offered(request, asked), initial=_initial(request)))


def _read(core: Any, request: HttpRequest) -> Asked:
    """Read the request off the address, for the form as well as for its answer: nothing of it is believed twice.

    Raises: FatalClientError where nobody can be led back; OAuthToolkitError where the client is to be told.
    """
    scopes, credentials = core.validate_authorization_request(request)
    told = credentials.pop("request")
    resource = resource_of(request.GET.getlist("resource"))
    if resource is None:
        raise OAuthToolkitError(
            error=CustomOAuth2Error(
                error="invalid_target", description="no token for that resource is given here", request=told
            )
        )
    return Asked(
        client=told.client,
        scopes=[Scope(scope) for scope in scopes],
        resource=resource,
        redirect_uri=credentials["redirect_uri"],
        credentials=credentials,
    )


def _offered(request: HttpRequest, asked: Asked) -> list[Scope]:
    """Return what may be ticked: what was asked for, and never more than the person may do."""
    allowed = scopes_to_give(request.user)  # type: ignore[arg-type] # the admin lets nobody else in
    return [scope for scope in allowed if scope in asked.scopes]


def _initial(request: HttpRequest) -> dict[str, Any]:
    return {"vault": chosen_vault(request), "scopes": [scope.value for scope in TICKED]}


def _answer(core: Any, request: HttpRequest, asked: Asked) -> HttpResponse:
    """Carry out what the person said.

    Raises: OAuthToolkitError, which tells the client.
    """
    if "allow" not in request.POST:
        raise OAuthToolkitError(
            error=AccessDeniedError(state=asked.credentials["state"]), redirect_uri=asked.redirect_uri
        )
    form = ConsentForm(request.POST, offered=_offered(request, asked))
    if not form.is_valid():
        return _page(request, asked, form, status=422)
    chosen = Chosen(vault=form.cleaned_data["vault"], resource=asked.resource)
    uri, *_ = core.create_authorization_response(
        request=request,
        scopes=form.cleaned_data["scopes"],
        credentials=asked.credentials | {"chosen": chosen, "resource": [asked.resource]},
        allow=True,
    )
    return redirect_to(uri)


def _page(request: HttpRequest, asked: Asked, form: ConsentForm, *, status: int = 200) -> HttpResponse:
    host, target = proven_host(asked.client), shown_target(asked.redirect_uri)
    context = {
        **admin.site.each_context(request),
        "is_nav_sidebar_enabled": False,
        "title": "Connect a client",
        "form": form,
        "name": client_name(asked.client),
        "host": host,
        "target": target,
        "local": is_local(asked.redirect_uri),
        "elsewhere": host is not None and host != target,
    }
    page = render(request, "oauth/consent.html", context, status=status)
    page["Content-Security-Policy"] = policy_for(asked.redirect_uri)
    return page


def _refuse(request: HttpRequest, error: OAuth2Error) -> HttpResponse:
    """Say what is wrong to the person: where the client or its address is not sound, nobody is led there."""
    context = {
        **admin.site.each_context(request),
        "is_nav_sidebar_enabled": False,
        "title": "This client cannot be connected",
        "reason": error.description or error.error,
    }
    return render(request, "oauth/refused.html", context, status=400)


def _lead_back(error: OAuth2Error) -> HttpResponse:
    return redirect_to(error.in_uri(error.redirect_uri))
