"""Which kind of memory a sentence is, by how it is phrased. Precision before recall: what fits no rule is a claim.

The rules know English well and of a few other languages what cannot be mistaken.
"""

import re
from typing import Final

from memories.core.entities import is_common_word
from memories.core.kinds import Kind
from memories.core.occasions import tells_of_a_day
from memories.core.text import DEFAULT_LANGUAGE, word_set

ASKS: Final = re.compile(
    r"[?？؟][\"'”’»)\]」』*_`]{0,3}\s*$"
    r"|^\W{0,6}(?:open )?question\s?:"
    r"|^\W{0,6}i wonder (?:if|whether|who|what|when|where|why|how|which)\b"
    r"|[一-鿿]吗[。.]?$|[ぁ-ヿ一-鿿](?:ます|です|でしょう|ました)か[。.]?$",
    re.IGNORECASE,
)
_LEAD: Final = r"^\W{0,6}(?:(?:please|note|rule|important|remember)\b\W{0,3}){0,2}"
_WHO: Final = (
    r"(?:we|they|i|he|she|it was|the (?:team|board|committee|council|group|management|jury|owners|family))"
)
_DAY_AHEAD: Final = (
    r"(?:\bby\s(?:\d|the end|end of|eod|tomorrow|tonight|next|noon|\w+day|"
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|\b(?:tomorrow|tonight)\b)"
)
_ENGLISH: Final = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in [
        (Kind.SUMMARY, r"^\W{0,6}(?:tl;?dr|summary|in summary|in short|to summari[sz]e)\b"),
        (
            Kind.ACTION,
            r"\b(?:todo|to-do|fixme|action items?)\b|^\W{0,4}\[[ x]\]|\b(?:don['’]?t|do not) forget to\b|^\W{0,6}remember to\b",
        ),
        (
            Kind.STYLE,
            _LEAD + r"(?:always )?(?:answer|reply|respond|write|format)\b.{0,60}\b(?:in|as|with|without|briefly|short|concise|formal|bullet)"
            r"|" + _LEAD + r"keep (?:your |the |all )?(?:answers?|repl(?:y|ies)|responses?|sentences)\b"
            r"|" + _LEAD + r"(?:always )?use (?:british|american|metric|imperial|plain|formal|informal|simple) \w+",
        ),
        (
            Kind.NEGATIVE,
            _LEAD + r"(?:never|do not|don['’]?t|avoid|no more)\b(?!\s(?:worry|mind|know|forget|think)|\s\w+ (?:was|were|had|did)\b)"
            r"|\b(?:must|shall|should)(?:\s(?:not|never|always)|n['’]t)\b|\balways must\b"
            r"|(?<!\bit )(?<!\bthat )(?<!\bthis )(?<!\bthere )(?<!\bor )\bmay (?:not|never|only)\b|^\W{0,6}only\b.{1,60}\bmay\b"
            r"|\b(?:is|are) (?:not allowed|forbidden|prohibited|strictly|never to)\b|\bunder no circumstances\b",
        ),
        (
            Kind.DECISION,
            r"^\W{0,6}(?:decision|decided|agreed|resolved)\b(?! (?:price|date|address))"
            rf"|\b{_WHO} (?:have |has |had |then |finally |also |all |just ){{0,2}}(?:decided|agreed|opted|settled on|resolved (?:to|that)|chose|chosen)\b"
            r"|\b(?:decided|agreed) (?:to|on|that|against)\b|\bsettled on\b|\bopted for\b"
            rf"|\b{_WHO} (?:have |has |finally )?(?:approved|voted for|signed off)\b"
            r"|\b(?:we|i)(?:['’]ll| will| are going to|['’]re going to) (?:use|go with|adopt|switch|move|migrate|keep|drop|"
            r"stick|standardi[sz]e|replace|build on|stay)\b|\bwe(?: are|['’]re) going with\b"
            r"|\blet['’]?s (?:go with|use|stick with|switch to)\b",
        ),
        (
            Kind.PREFERENCE,
            r"\b(?:i|we|he|she|they)\s(?:(?:really|also|always|usually|generally|still|do|don['’]?t|does(?:n['’]?t)?|do not|does not)\s){0,2}"
            r"(?:prefers?|likes?|loves?|hates?|dislikes?|enjoys?|can['’]?t stand)\b(?!\s(?:it|this|that|them|you|to (?:see|hear))\b|[.!,])"
            r"|\b(?:i|we|he|she|they)(?:['’]d| would) (?:rather|prefer)\b|\bfavou?rite\b|\bpreferences?\b|\bprefers\b",
        ),
        (
            Kind.ACTION,
            r"\b(?:i|we|you|he|she|they|someone|somebody|everyone|everybody|team)\s(?:still\s)?(?:needs?|have|has|ought) to\b|\b(?:needs?|has) to be\b"
            rf"|\b(?:will|['’]ll)\b.{{1,120}}?{_DAY_AHEAD}",
        ),
    ]
)  # fmt: skip
_UNDECIDED: Final = re.compile(
    r"(?:\b(?:not|never|nobody|no one|yet to|nor)\b|n['’]t\b).{0,40}\b(?:decide|agree|chose|settled|opt|approve)",
    re.I,
)
_NAME: Final = r"[^\W\d_a-z][\w’'-]{1,30}"
_NAMED_TASTE: Final = re.compile(
    rf"^\W{{0,6}}{_NAME}\s(?:really |also )?(?:likes|loves|hates|dislikes|enjoys|prefers)\b"
)
# Who is to do something: `Ana to send …`, `Ana needs to …`, `@ana …`, `TODO(ana)`.
_BEARER: Final = re.compile(
    rf"^\W{{0,6}}(?:\[[ xX]\]\s)?(?P<name>{_NAME}(?:\s{_NAME})?|@[\w.-]+)\s(?:to|needs to|has to)\s[a-z]"
)
_WILL_DO: Final = re.compile(
    rf"^\W{{0,6}}(?P<name>{_NAME}(?:\s{_NAME})?)(?:['’]ll| will| is going to)\s[a-z]"
)
_ASKED: Final = re.compile(
    rf"(?:^\W{{0,6}}|[:.!]\s)(?P<name>{_NAME}), (?:can|could|would|will|please)\b"
    rf"|^\W{{0,6}}(?i:can|could|would|will) you\b.{{1,200}}, (?P<last>{_NAME})\?",
)
_REQUEST: Final = re.compile(
    r"\b(?:can|could|would|will) you (?:please )?[a-z]+|\bplease [a-z]+", re.IGNORECASE
)
_ASSIGNED: Final = re.compile(rf"^\W{{0,6}}(?:\[[ xX]\]\s)?(?:(?i:action|todo)\s?:\s?)?(?P<name>{_NAME}):\s")
_MARKED: Final = re.compile(
    r"\b(?:todo|fixme)\s?\(@?(?P<name>[\w.-]{2,40})\)|(?<![\w.@])@(?P<handle>\w[\w.-]{1,38}\w)", re.I
)
_NOBODY: Final = word_set("i we todo fixme note action decision it they he she you everyone somebody someone")
_FIRST_PERSON: Final = re.compile(
    r"^\W{0,6}(?:(?:ok|okay|yes|sure|fine)\W{1,3})?I(?:['’]ll| will| need to| have to| must)\b", re.I
)

_OTHERS: Final = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in [
        (
            Kind.DECISION,
            r"\b(?:wir|ich|sie) (?:haben|habe) (?:uns |mich |sich )?(?!nicht|noch nicht|nie)[^.!?]{0,60}\b(?:entschieden|beschlossen|geeinigt)\b"
            r"|\bwurde beschlossen\b|^\W{0,6}(?:beschluss|entscheidung|decisión|décision)\s?:"
            r"|(?<!\bno )\b(?:hemos|han) (?:decidido|acordado)\b|(?<!\bno )\bdecidimos\b|(?<!\bno )\bse (?:decidió|acordó)\b"
            r"|\b(?:avons|ont) (?:décidé|convenu)\b|(?:我们|大家|团队)(?:已经|最终|一致)?决定|ことに決(?:めました|定しました|まりました)",
        ),
        (
            Kind.NEGATIVE,
            r"^\W{0,6}niemals\b[^.!?]*\w{2,}(?:en|rn|ln)[.!]*$|\b(?:darf|dürfen) (?:\w+ ){0,5}(?:nicht|nie|niemals|kein\w*)\b"
            r"|\b(?:ist|sind) (?:streng )?(?:verboten|untersagt)\b|^\W{0,6}nunca \w+(?:as|es)\b|\bestá prohibido\b"
            r"|^\W{0,6}ne (?:jamais|pas) \w+(?:er|ir|re)\b|\bil est interdit\b",
        ),
        (
            Kind.PREFERENCE,
            r"\bich (?:bevorzuge|ziehe .{1,60} vor\b)|^\W{0,6}prefiero\b|\bje préfère\b",
        ),
    ]
)  # fmt: skip


def kind_of_sentence(text: str, *, language: str, listed_as: Kind | None = None) -> Kind:
    """Return the kind of one sentence.

    Args:
        language: of the vault; only where it is English are all rules asked.
        listed_as: what the heading over its list says that it is.
    """
    if language == DEFAULT_LANGUAGE and _is_request(text):
        return Kind.ACTION
    if ASKS.search(text):
        return Kind.QUESTION
    if kind := phrased_kind(text, language=language):
        return kind
    if listed_as is not None:
        return listed_as
    return Kind.EVENT if tells_of_a_day(text) else Kind.CLAIM


def phrased_kind(text: str, *, language: str) -> Kind | None:
    """Return the kind that a phrase of a statement gives away."""
    if language == DEFAULT_LANGUAGE and (kind := _english_kind(text)):
        return kind
    return next((kind for kind, pattern in _OTHERS if pattern.search(text)), None)


def owner_of(text: str, *, speaker: str | None = None) -> str | None:
    """Return who is to do what a sentence asks for, as named there; the speaker of "I will"."""
    if marked := _MARKED.search(text):
        return marked["name"] or f"@{marked['handle']}"
    for pattern in (_BEARER, _WILL_DO, _ASKED, _ASSIGNED):
        found = pattern.search(text)
        name = found and (found["name"] or found.groupdict().get("last"))
        if name and not is_common_word(name.split()[0]) and name.lower() not in _NOBODY:
            return name
    return speaker if speaker and _FIRST_PERSON.search(text) else None


def _is_request(text: str) -> bool:
    """Whether somebody is asked by name to do something."""
    found = _ASKED.search(text)
    name = found and (found["name"] or found["last"])
    return bool(name) and not is_common_word(str(name)) and bool(_REQUEST.search(text))


def _english_kind(text: str) -> Kind | None:
    kinds = (kind for kind, pattern in _ENGLISH if pattern.search(text))
    found = next((kind for kind in kinds if kind is not Kind.DECISION or not _UNDECIDED.search(text)), None)
    if found is not None:
        return found
    if _NAMED_TASTE.search(text):
        bearer = text.lstrip("#>*- \t").split()[0]
        return None if bearer[-1:] == "s" and is_common_word(bearer) else Kind.PREFERENCE
    bearer_of = _BEARER.search(text)
    if bearer_of and not is_common_word(bearer_of["name"].split()[0].lstrip("@")):
        return Kind.ACTION
    return None
