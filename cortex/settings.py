"""One flat settings file; everything that a deployment may choose comes from the environment."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from cortex import env

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = env.folder("CORTEX_VAR_DIR", BASE_DIR / "var")

DEBUG = env.flag("CORTEX_DEBUG", default=False)
PRODUCTION = env.flag("CORTEX_PRODUCTION", default=False)
PROXY = env.flag("CORTEX_PROXY", default=False)  # one stands before, and writes X-Forwarded-Proto itself
STATIC_ROOT = VAR_DIR / "static"
THROTTLE_DIR = VAR_DIR / "throttle"  # who called when, for all workers of this machine
METRICS_DIR = VAR_DIR / "metrics"  # what each worker counted
for _folder in (STATIC_ROOT, THROTTLE_DIR):
    env.made(_folder, why=f"CORTEX_VAR_DIR={VAR_DIR}")
SECRET_KEY = env.secret_key("CORTEX_SECRET_KEY", VAR_DIR / "secret_key", production=PRODUCTION)
ALLOWED_HOSTS = env.words("CORTEX_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
if PRODUCTION and (DEBUG or "*" in ALLOWED_HOSTS):
    raise ImproperlyConfigured("production runs without CORTEX_DEBUG and with hosts named one by one")

# -- Cortex --------------------------------------------------------------------------------------

CORTEX_HOST = env.text("CORTEX_HOST", "127.0.0.1")
CORTEX_PORT = env.number("CORTEX_PORT", 8766, least=1, most=65_535)
CORTEX_API_KEY = env.text("CORTEX_API_KEY")
CORTEX_METRICS_TOKEN = env.text("CORTEX_METRICS_TOKEN")
CORTEX_EMBEDDER = env.choice(
    "CORTEX_EMBEDDER", "auto", ("auto", "hash", "static", "minilm", "multilingual", "endpoint", "none")
)
# Asked only where CORTEX_EMBEDDER is `endpoint`: texts go there.
CORTEX_EMBED_URL = env.web_address("CORTEX_EMBED_URL", required=CORTEX_EMBEDDER == "endpoint")
CORTEX_EMBED_KEY = env.text("CORTEX_EMBED_KEY")
CORTEX_EMBED_MODEL = env.text("CORTEX_EMBED_MODEL")
CORTEX_EMBED_SECONDS = env.number("CORTEX_EMBED_SECONDS", 5, least=1, most=60)
# Where it is set, captured text goes to that language model, which may propose memories; else nothing leaves.
CORTEX_LLM_URL = env.web_address("CORTEX_LLM_URL")
CORTEX_LLM_KEY = env.text("CORTEX_LLM_KEY")
CORTEX_LLM_MODEL = env.text("CORTEX_LLM_MODEL")
CORTEX_LLM_SECONDS = env.number("CORTEX_LLM_SECONDS", 60, least=1, most=600)
CORTEX_AUTO_APPROVE = env.flag("CORTEX_AUTO_APPROVE", default=True)
CORTEX_OAUTH = env.flag("CORTEX_OAUTH", default=False)
CORTEX_PUBLIC_URL = env.own_address("CORTEX_PUBLIC_URL", for_oauth=CORTEX_OAUTH)
CORTEX_THROTTLE = env.rate("CORTEX_THROTTLE", "600/min")
CORTEX_RECEIPTS = env.choice("CORTEX_RECEIPTS", "all", ("all", "none"))
CORTEX_LOG_LEVEL = env.choice("CORTEX_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
BODY_LIMIT_BYTES = 2 * 1024 * 1024
BULK_BODY_LIMIT_BYTES = 32 * 1024 * 1024

# -- Django --------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "cortex.adminsite.CortexAdminConfig",  # Django's admin, with a site of our own
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "memories",
    "sessions",
    "contextpack",
]

MIDDLEWARE = [
    "cortex.api.middleware.RequestGuard",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "cortex.urls"
WSGI_APPLICATION = "cortex.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": env.database("CORTEX_DATABASE_URL", f"sqlite:///{VAR_DIR}/cortex.sqlite3")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, not memory: WAL, locks and threads then behave in tests as they do in life.
    DATABASES["default"]["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

DATA_UPLOAD_MAX_MEMORY_SIZE = BULK_BODY_LIMIT_BYTES

# -- Security ------------------------------------------------------------------------------------

X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = PRODUCTION
SECURE_HSTS_SECONDS = 31_536_000 if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = PRODUCTION
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PROXY else None
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]

# -- REST ----------------------------------------------------------------------------------------

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["memories.access.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["memories.access.HasScope"],
    "DEFAULT_THROTTLE_CLASSES": ["memories.access.TokenThrottle"],
    "DEFAULT_PARSER_CLASSES": ["cortex.api.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["cortex.api.rendering.CompactJSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "cortex.api.negotiation.AnyAccept",
    "DEFAULT_SCHEMA_CLASS": "cortex.api.schema.ContractSchema",
    "EXCEPTION_HANDLER": "cortex.api.problems.as_problem",
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

# -- OAuth ---------------------------------------------------------------------------------------

OAUTH2_PROVIDER: dict[str, Any] = {
    "OIDC_ISS_ENDPOINT": CORTEX_PUBLIC_URL,  # the issuer, also without OpenID
    "SCOPES": dict.fromkeys(("memory:read", "memory:write", "memory:review", "vault:admin"), ""),
    "DEFAULT_SCOPES": ["memory:read", "memory:write"],
    "OAUTH2_SERVER_CLASS": "oauth.server.CodeServer",
    "OAUTH2_VALIDATOR_CLASS": "oauth.server.Validator",
    "ACCESS_TOKEN_GENERATOR": "oauth.server.new_access_token",
    "REFRESH_TOKEN_GENERATOR": "oauth.server.new_refresh_token",
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "ACCESS_TOKEN_EXPIRE_SECONDS": 3_600,
    "REFRESH_TOKEN_EXPIRE_SECONDS": 30 * 86_400,  # after the last access token has ended
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "PKCE_REQUIRED": True,
    "ALLOWED_REDIRECT_URI_SCHEMES": [
        "https",
        "http",
        "cursor",
        "vscode",
        "vscode-insiders",
    ],  # http: loopback
    "ALLOW_LOCALHOST_LOOPBACK": True,
    "CIMD_ENABLED": True,
    "CIMD_REGISTRATION_PERMISSION_CLASSES": ["oauth.clients.OnlyWhereAPersonAsks"],
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,  # digests alone are stored
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_MATCHING": True,
    "COMPLIANT_BCP_RFC9700_PKCE_REQUIRED": True,
}
OAUTH2_PROVIDER_APPLICATION_MODEL = "oauth2_provider.Application"  # migrations that refer to it read this
if CORTEX_OAUTH:
    env.require_package("oauth2_provider", needed_by="CORTEX_OAUTH=1", extra="oauth")
    INSTALLED_APPS += ["oauth2_provider", "oauth"]
    # A program on a person's own machine listens on http (RFC 8252); oauth.redirects takes that for loopback alone.
    SILENCED_SYSTEM_CHECKS = ["oauth2_provider.W008"]
    REST_FRAMEWORK["DEFAULT_AUTHENTICATION_CLASSES"] = ["oauth.access.GrantAuthentication"]

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Cortex",
    "DESCRIPTION": "Memories for language models, over the Contextual Memory Protocol.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "contextpack.openapi.describe_answers",
        "cortex.api.schema.add_problem_responses",
    ],
}

# -- Logs ----------------------------------------------------------------------------------------

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "cortex.api.logs.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": CORTEX_LOG_LEVEL},
    # What a client did wrong is told to the client; a log of it would only drown what we did wrong.
    # Statements are logged with their parameters, which are memory text.
    "loggers": {
        "django.server": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},
        "django.db.backends": {"level": "INFO"},
        # A request is logged with the codes and tokens in it.
        "oauthlib": {"level": "INFO"},
        "oauth2_provider": {"level": "INFO"},
    },
}
