"""Secrets in text, found by their shape and masked before anything is stored.

No rule leans on word boundaries, which fail between a key and a script without spaces. Every rule is linear:
quantifiers that could run away are bounded, or start only where a run of characters starts.
"""

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_KEY_BLOCK_LIMIT: Final = 20_000
_ENTROPY_OF_A_TOKEN: Final = 3.0  # bits per character


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """One kind of secret: looked for only in texts that hold one of its hints."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(name: str, pattern: str, *hints: str) -> _Shape:
    return _Shape(name=name, hints=hints, pattern=re.compile(pattern, re.ASCII))


_SHAPES: Final = (
    _shape("cortex_token", r"ct[xar]_[\w-]{43,}", "ctx_", "cta_", "ctr_"),
    _shape("aws_access_key", r"A(?:KIA|SIA|ROA|IDA|BIA|CCA)[A-Z0-9]{16,}", "AKIA", "ASIA", "AROA", "AIDA", "ABIA", "ACCA"),
    _shape("github_token", r"gh[oprsu]_[A-Za-z0-9]{36,}|github_pat_\w{22,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    _shape("gitlab_token", r"gl(?:pat|ptt|dt|rt|cbt|oas|soat|ft|imt|agent)-[\w-]{20,}", "gl"),
    _shape("slack_token", r"xox[abceoprs][.-][\w.-]{10,}|xapp-\d-[\w-]{10,}", "xox", "xapp-"),
    _shape("slack_webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{20,}", "hooks.slack.com/"),
    _shape("anthropic_key", r"sk-ant-[\w-]{20,}", "sk-ant-"),
    _shape("openai_key", r"sk-(?:proj|svcacct|admin|None|or-v1)-[\w-]{20,}|sk-(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}", "sk-"),
    _shape("google_key", r"AIza[\w-]{35,}|GOCSPX-[\w-]{28,}|ya29\.[\w-]{20,}", "AIza", "GOCSPX-", "ya29."),
    _shape("stripe_key", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{32,}", "_live_", "_test_", "whsec_"),
    _shape("npm_token", r"npm_[A-Za-z0-9]{36,}", "npm_"),
    _shape("pypi_token", r"pypi-[\w-]{50,}", "pypi-"),
    _shape("telegram_token", r"\d{8,10}:AA[\w-]{33,}", ":AA"),
    _shape("huggingface_token", r"hf_[A-Za-z0-9]{30,}", "hf_"),
    _shape("sendgrid_key", r"SG\.[\w-]{22}\.[\w-]{43,}", "SG."),
    _shape("twilio_key", r"(?:SK|AC)[0-9a-f]{32}", "SK", "AC"),
    _shape("mailgun_key", r"key-[0-9a-z]{32,}", "key-"),
    _shape("digitalocean_token", r"do[opr]_v1_[0-9a-f]{64,}", "_v1_"),
    _shape("shopify_token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}", "shp"),
    _shape("discord_token", r"[MNO][\w-]{23,26}\.[\w-]{6}\.[\w-]{27,}", "."),
    _shape("databricks_token", r"dapi[0-9a-f]{32,}", "dapi"),
    _shape("linear_key", r"lin_api_[A-Za-z0-9]{40,}", "lin_api_"),
    _shape("notion_token", r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43,}", "ntn_", "secret_"),
    _shape("docker_token", r"dckr_(?:pat|oat)_[\w-]{27,}", "dckr_"),
    _shape("groq_key", r"gsk_[A-Za-z0-9]{48,}", "gsk_"),
    _shape("xai_key", r"xai-[A-Za-z0-9]{60,}", "xai-"),
    _shape("perplexity_key", r"pplx-[A-Za-z0-9]{40,}", "pplx-"),
    _shape("replicate_token", r"r8_[A-Za-z0-9]{37,}", "r8_"),
    _shape("grafana_token", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8,}", "glsa_"),
    _shape("vault_token", r"hv[bs]\.[\w-]{24,}", "hvs.", "hvb."),
    _shape("age_key", r"AGE-SECRET-KEY-1[0-9A-Z]{58,}", "AGE-SECRET-KEY-1"),
    _shape("azure_key", r"(?<=AccountKey=)[A-Za-z0-9+/]{60,}={0,2}", "AccountKey="),
    _shape("bearer_token", r"(?i:(?<=bearer )|(?<=basic ))(?=[A-Za-z._~+/-]{0,60}\d)[\w.~+/-]{20,}={0,2}", "earer ", "asic ", "EARER "),
    _shape("password", r"(?<=://)[^\s/:@]{0,64}:[^\s/@]{3,128}(?=@)", "://"),
)  # fmt: skip

_NAMES_OF_HINTS: Final = tuple((hint, shape.name) for shape in _SHAPES for hint in shape.hints)

_BEGIN_KEY: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_END_KEY: Final = re.compile(r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY: Final = re.compile(r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{40,})*")
# Anchored where a run of such characters starts, so that a run is read once.
_DOTTED: Final = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{11,}+(?:\.[A-Za-z0-9_-]{4,}+){2,4}")
_CARD: Final = re.compile(r"(?<![\d+])(?<!\d\.)\d(?:[ -]?\d){12,18}(?!\d)")
_CARD_GROUPS: Final = re.compile(
    r"\d{13,19}|\d{4}(?:[ -]\d{4}){2,3}(?:[ -]\d{1,4})?|\d{4}[ -]\d{6}[ -]\d{4,5}"
)
_CARD_BRANDS: Final = (
    re.compile(r"4(?:\d{12}|\d{15}|\d{18})"),  # Visa
    re.compile(r"(?:5[1-5]|2[2-7])\d{14}"),  # Mastercard
    re.compile(r"3[47]\d{13}"),  # American Express
    re.compile(r"3(?:0[0-5]|[689]\d)\d{11}"),  # Diners
    re.compile(r"(?:6011|6[245]\d\d|35\d\d|81\d\d)\d{12,15}"),  # Discover, UnionPay, JCB
    re.compile(r"220[0-4]\d{12}|(?:5[06-8]|67)\d{14}"),  # Mir, Maestro
)
_PHONE_BEFORE: Final = re.compile(
    r"(?:phone|tel|call|mobile|fax|whatsapp|电话|電話|전화)\W{0,3}(?:\w{1,8}\W{1,2})?$", re.I
)

_ASSIGNED: Final = re.compile(
    r"(?P<key>pass(?:word|wd|code|phrase)|passwort|kennwort|contraseña|mot de passe|senha|пароль|密码|密碼|口令|パスワード|비밀번호|pwd"
    r"|(?:api|access|secret|private|auth|signing|encryption|client)[_ -]?(?:key|token|secret)|secret|token|credentials?)"
    r"(?:\s(?:for|of|to|on)\s[^\n:=.]{1,30}?)?"
    r"[\"'”’*`]{0,2}\s{0,3}(?:[:=：＝]{1,2}>?|\bis\b|\bist\b|\best\b|\bes\b|是|为|為|は|то)\s{0,3}"
    r"(?:\"(?P<quoted>[^\"\n]{6,200})\"|'(?P<single>[^'\n]{6,200})'"
    r"|[`*“]{0,2}(?P<bare>[!-~]{6,200}))",
    re.I,
)
# One of these is in every key above.
_KEY_HINTS: Final = (
    "pass", "pwd", "kennwort", "contrase", "senha", "пароль", "密", "口令", "パスワード", "비밀번호",
    "key", "token", "secret", "credential",
)  # fmt: skip
_PASSWORD_KEY: Final = re.compile(
    r"pass|pwd|kennwort|contraseña|senha|пароль|密|口令|パスワード|비밀번호", re.I
)
_BARE_END: Final = re.compile(r"[\"'`,;<>(){}\[\]]|\*\*|&")
_HARMLESS_VALUE: Final = re.compile(
    r"\[masked:|https?:|(?:mem|cap|rcp|pin|ses)_\w+$|[$%<{(\[]|\*{3}|x{4}|your[-_ ]|my[-_]|example|placeholder|changeme"
    r"|os\.|env\.|process\.|settings\.|config\.|getenv|none$|null$|true$|false$|\d{4}-\d\d-\d\d",
    re.I,
)


def mask_secrets(text: str) -> tuple[str, int]:
    """Replace every secret in a text by a mark that names its kind, such as `[masked:github_token]`.

    Returns: the text without its secrets, and how many there were.
    """
    masked, count = _mask_key_blocks(text)
    hinted = {name for hint, name in _NAMES_OF_HINTS if hint in masked}
    for shape in _SHAPES if hinted else ():
        if shape.name in hinted:
            masked, found = shape.pattern.subn(_mark(shape.name), masked)
            count += found
    folded = masked.casefold()
    for hints, pattern, judge in _JUDGED:
        if not hints or any(map(folded.__contains__, hints)):
            masked, found = _mask_judged(masked, pattern, judge)
            count += found
    return masked, count


def _mark(name: str) -> str:
    return f"[masked:{name}]"


_MARK: Final = re.compile(r"\[masked:\w{1,60}\]")


def blank_marks(text: str) -> str:
    """Return a text with blanks where secrets were masked; what stands elsewhere keeps its place."""
    return _MARK.sub(lambda mark: " " * len(mark.group()), text) if "[masked:" in text else text


def _mask_key_blocks(text: str) -> tuple[str, int]:
    if "PRIVATE KEY" not in text:
        return text, 0
    kept: list[str] = []
    position = 0
    for begin in _BEGIN_KEY.finditer(text):
        if begin.start() < position:
            continue
        end = _END_KEY.search(text, begin.end(), begin.end() + _KEY_BLOCK_LIMIT)
        body = _KEY_BODY.match(text, begin.end())
        kept.append(text[position : begin.start()])
        position = end.end() if end else body.end() if body else begin.end()
    return _mark("private_key").join([*kept, text[position:]]), len(kept)


def _mask_judged(
    text: str, pattern: re.Pattern[str], judge: Callable[[re.Match[str]], str | None]
) -> tuple[str, int]:
    """Replace what a pattern finds by what the judge says of it; None leaves it as it is."""
    count = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        verdict = judge(match)
        count += verdict is not None
        return match.group() if verdict is None else verdict

    return pattern.sub(replace, text), count


def _judge_dotted(match: re.Match[str]) -> str | None:
    """A JSON Web Token starts with an encoded brace, wherever the run around it starts."""
    found = match.group()
    start = found.find("eyJ")
    if start < 0 or found.count(".", start) < 2:
        return None
    return found[:start] + _mark("jwt")


def _judge_card(match: re.Match[str]) -> str | None:
    found = match.group()
    digits = "".join(str(int(character)) for character in found if character.isdecimal())
    if not _CARD_GROUPS.fullmatch(found) or not any(brand.fullmatch(digits) for brand in _CARD_BRANDS):
        return None
    if not _passes_luhn(digits) or _PHONE_BEFORE.search(
        match.string[max(0, match.start() - 24) : match.start()]
    ):
        return None
    return _mark("card_number")


def _passes_luhn(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0


def _judge_assignment(match: re.Match[str]) -> str | None:
    group = "quoted" if match["quoted"] else "single" if match["single"] else "bare"
    value = match[group]
    if group == "bare":
        end = _BARE_END.search(value)
        value = value[: end.start()] if end else value
        value = value.rstrip(".:!?*")
    is_password = _PASSWORD_KEY.match(match["key"]) is not None
    if not _looks_secret(value, is_password=is_password):
        return None
    start = match.start(group) - match.start()
    whole = match.group()
    return whole[:start] + _mark("password" if is_password else "token") + whole[start + len(value) :]


def _looks_secret(value: str, *, is_password: bool) -> bool:
    if len(value) < 6 or _HARMLESS_VALUE.match(value):
        return False
    has_letter = any(character.isalpha() for character in value)
    has_digit = any(character.isdecimal() for character in value)
    if is_password:
        has_symbol = any(not character.isalnum() and not character.isspace() for character in value)
        return (has_digit and " " not in value) or (
            has_letter and has_symbol and not value.islower() and " " not in value
        )
    return (
        len(value) >= 12
        and has_letter
        and has_digit
        and " " not in value
        and _entropy(value) >= _ENTROPY_OF_A_TOKEN
    )


def _entropy(value: str) -> float:
    """Return Shannon's entropy of a text's characters, in bits per character."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


# Each is looked for only in texts whose folded form holds one of its hints.
_JUDGED: Final[tuple[tuple[tuple[str, ...], re.Pattern[str], Callable[[re.Match[str]], str | None]], ...]] = (
    (("eyj",), _DOTTED, _judge_dotted),
    (_KEY_HINTS, _ASSIGNED, _judge_assignment),
    ((), _CARD, _judge_card),
)
