"""Text that speaks to a model instead of about the world: orders, forged roles, broken fences, smuggled letters.

Such text is stored and waits for a person. Memories talk about prompts, rules and keys all the time, so a sign
is a whole phrase in the form of an order or a piece of a protocol, never a single word.
"""

import re
from typing import Final

from memories.core.text import normalise

_ORDER: Final = r"(?:^|[.!?;:,>\"'”’)\]*#]\s*|\b(?:and|then|please|now|also|must|just|instead|to)\s)"
_PAST: Final = r"(?:previous|prior|above|earlier|preceding|foregoing|former|past|existing|original|initial|system|current)"
_GIVEN: Final = r"(?:instructions?|prompts?|directives?|directions|commands?|orders|guidelines|rules|guardrails|programming|training|polic(?:y|ies)|constraints|context|messages?)"
_FILLER: Final = r"(?:(?:all|any|every|each|of|the|your|my|our|these|those|this|that|and|other|safety|given|stated|existing)\s){0,5}"
_HELD: Final = (
    r"(?:api[ _-]?keys?|keys?|passwords?|credentials?|secrets?|tokens?|env(?:ironment)? (?:vars?|variables?|file)|\.env"
    r"|(?:conversation|chat|message) (?:history|log)s?|memories|system prompt|contacts|private data|user data)"
)

_SIGNS: Final = {
    "override": (
        rf"\b(?:ignore|disregard|forget|override|bypass|neglect|discard|do not (?:follow|obey)|don'?t (?:follow|obey)|stop (?:following|obeying))\s"
        rf"{_FILLER}{_PAST}\s(?:\w+\s){{0,2}}?{_GIVEN}\b",
        r"\b(?:ignore|disregard|forget|override|bypass)\s(?:all|any|every|your|all of your|all the|all your)\s(?:\w+\s)?(?:instructions?|prompts?|directives?|guardrails|programming|training)\b",
        rf"\b(?:ignore|disregard|forget)\s(?:your|all your)\s(?:\w+\s)?{_GIVEN}\b",
        r"\b(?:ignore|disregard|forget)\s(?:everything|anything|all|what)\s(?:that\s)?(?:is\s|was\s|came\s|comes\s|written\s|you (?:were|have been|know|learned|are)\s?)?(?:told|above|before|previously|earlier|said)\b",
        r"\b(?:these|the following|my|new)\s(?:new\s)?instructions\s(?:override|supersede|replace|take precedence)\b",
        r"(?:^|[.!?\n#*]\s*)(?:new|updated|real|important)\s(?:system\s)?instructions?\s?:",
        r"\bignoriere?\s(?:(?:alle|bitte|die|deine|saemtliche|samtliche)\s){0,3}(?:(?:vorherigen|bisherigen|obigen|fruheren)\s)?(?:anweisungen|instruktionen|regeln)",
        r"\bignorez?\s(?:toutes\s)?(?:les|vos|tes)\s(?:instructions|consignes)",
        r"\bignor[ae]\s(?:todas\s)?(?:las|tus|as|suas|le|tutte le)\s(?:instrucciones|instrucoes|istruzioni)",
        r"\bигнорируи(?:те)?\s(?:\w+\s){0,3}(?:инструкци|указани)|\bзабудь(?:те)?\s(?:\w+\s){0,3}(?:инструкци|указани)",
        r"(?:忽略|无视|無視|忘记|忘記)(?:掉|你)?(?:之前|以上|先前|前面|上述|所有|一切).{0,8}(?:指令|指示|提示|命令|规则|規則)",
        r"(?:以前|これまで|上記|前).{0,6}(?:指示|命令|プロンプト).{0,4}(?:無視|忘れ)|(?:이전|위의?).{0,6}(?:지시|명령).{0,4}무시",
    ),
    "persona": (
        r"(?:^|[.!?;:,\n>\"']\s*)you are now\s(?!subscribed|logged|connected|ready|able|registered|part|signed|a member|on)",
        r"\byou are no longer\s(?:an?\s)?(?:ai|assistant|language model|bound|restricted|claude|chatgpt|gpt|limited)\b",
        r"\bfrom now on,?\syou\s(?:are|act|will act|must act|have no|will ignore|must ignore|obey|will obey)\b",
        r"\bpretend\s(?:to be|you are|that you are|you have)\s(?:\w+\s){0,3}(?:unrestricted|unfiltered|dan|jailbroken|evil|root|an? (?:ai|model|assistant)|no (?:rules|limits|restrictions|guidelines))",
        r"\bact as\s(?:\w+\s){0,3}(?:unrestricted|unfiltered|dan|jailbroken|uncensored|the system)\b",
        r"\b(?:enter|enable|activate|switch to)\s(?:\w+\s){0,2}(?:developer|dan|jailbreak|god|unrestricted)\smode\b",
    ),
    "exfiltration": (
        rf"{_ORDER}(?:e-?mail|mail|send|post|upload|forward|leak|exfiltrate|transmit|submit|copy|curl)\s(?:\S+\s){{0,6}}?{_HELD}\b[^.\n]{{0,60}}?\s(?:to|at)\s\S{{0,80}}(?:@|https?:|www\.)",
        rf"\b(?:exfiltrate|leak)\s(?:\S+\s){{0,4}}?{_HELD}\b",
        r"(?:^|[.!?;:,\n]\s*|\b(?:and|then|please|now)\s)(?:reveal|print|show|repeat|output|display|disclose|recite)\s(?:me\s|us\s)?(?:your|the|all)\s(?:\w+\s){0,2}?(?:system prompt|hidden instructions|initial instructions|instructions above)",
        r"\b(?:reveal|print|repeat|output|disclose|tell me|recite)\s(?:me\s)?your\s(?:\w+\s){0,2}?(?:prompt|instructions)\b",
        r"\b(?:do not|don'?t|never)\s(?:tell|inform|alert|warn)\sthe user\s(?:about|of|that|anything)\b|\bwithout\s(?:telling|informing|alerting|notifying|asking)\sthe user\b",
    ),
    "forged role": (
        r"#\s{0,3}(?:system|developer)\s?(?:prompt|message|override|note)?\s?:",
        r"(?:^|\n)\W{0,4}(?:system|developer)(?:\s(?:prompt|message|override|note))?\W{0,3}:\W{0,4}(?:you\b|your\b|ignore|disregard|do not|don'?t|always|never|act\b|respond|answer|reply|from now|new\b|override|reveal|please|must|the (?:user|assistant|model|ai)\b|this is|urgent|important|all\b)",
        r"\[(?:system|admin|developer)(?:\s(?:message|override|note|prompt))?\]",
        r"\b(?:when|once|if|after)\s(?:you|the assistant|the model|the ai|an ai|any ai|an? agent)\s(?:reads?|sees?|process(?:es)?|retrieves?|loads?)\sthis\b",
        r"\b(?:attention|important|note to|message (?:to|for)|hey),?:?\s(?:the\s|all\s|any\s)?(?:ai|llm|language model|claude|chatgpt|gpt|copilot|ai assistant|ai agent|ai model)s?\b\s?[:,!-]",
    ),
    "tool call": (
        r"\"(?:tool_calls?|function_call|tool_use_id)\"\s?:",
        r"\"type\"\s?:\s?\"(?:tool_use|tool_call|function_call|tool_result)\"",
        r"\{\s?\"(?:name|tool|function|tool_name)\"\s?:\s?\"[\w.:/-]{1,80}\"\s?,\s?\"(?:arguments|parameters|input|args|tool_input)\"\s?:",
        r"</?(?:antml:)?(?:tool_calls?|function_calls?|tool_use|invoke|function_results?|tool_results?)\b[^<>]{0,200}>|<function=",
    ),
    "template": (
        r"<\|[^|<>\s]{2,40}\|>",
        r"\[/?inst\]|<</?sys>>|</?(?:start|end)_of_turn>|<(?:bos|eos)>",
        r"\n\nhuman:[\s\S]{0,400}?\n\nassistant:\s?$",
    ),
    "fence": (
        r"</?(?:memory|memories|system|instructions?|untrusted|cortex|assistant|human|claude|thinking)(?:[-_]\w{1,30}){0,3}(?:\s[^<>]{0,100})?/?>",
        r"</(?:context|data|documents?|prompt|user|user[-_]\w{1,20}|retrieved[-_]\w{1,20})\s?>",
        r"(?:begin|end) (?:of )?(?:system prompt|memory context|memories|untrusted (?:data|content))\s?(?:-{2,}|={2,}|\])",
    ),
}  # fmt: skip
_COMPILED: Final = {
    sign: re.compile("|".join(f"(?:{pattern})" for pattern in patterns)) for sign, patterns in _SIGNS.items()
}

# One of these is in every text that a sign of the kind finds; a plain text is asked no more than that.
_HINTS: Final = {
    "override": (
        "ignor", "disregard", "forget", "overrid", "bypass", "neglect", "discard", "obey", "follow", "instruction",
        "игнор", "забудь", "忽略", "无视", "無視", "忘", "무시",
    ),
    "persona": ("you are no", "from now on", "pretend", "act as", " mode"),
    "exfiltration": ("@", "http", "www.", "exfiltrate", "leak", "prompt", "instruction", "the user"),
    "forged role": (
        "system", "developer", "[admin", " this", "attention", "important", "note to", "message", "hey",
    ),
}  # fmt: skip

# Letters drawn alike: orders written with a few Cyrillic or Greek letters in them read as Latin ones.
_LOOKALIKES: Final = str.maketrans("аеорсхуіѕјԁһкмтвнґοαερνικ", "aeopcxyisjdhkmtbhroaepvik")
_SMUGGLED: Final = re.compile(
    "(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0001\U000e0020-\U000e007f]"  # tag letters that make no flag
    "|[\u202d\u202e]"  # overrides of the reading direction
    "|[\u200b\u2060-\u2064\ufeff]{4}"
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3}"
)
_HIDDEN_INSIDE_WORD: Final = re.compile("[A-Za-z][\u200b-\u200d\u2060-\u2064\ufeff\u00ad]+(?=[A-Za-z])")
_HIDDEN_ALLOWED: Final = 3  # pasted web text holds a few


def is_instruction_like(text: str) -> bool:
    """Tell whether a text gives a model orders, or poses as a part of a prompt."""
    return hostile_sign(text) is not None


def hostile_sign(text: str) -> str | None:
    """Name the first sign that a text gives a model orders, or None."""
    if _SMUGGLED.search(text) or _hides_letters(text):
        return "smuggled letters"
    plain = "\n".join(normalise(line) for line in text.splitlines())
    for sign, pattern in _COMPILED.items():
        if _may_have(sign, plain) and pattern.search(plain):
            return sign
    if not plain.isascii():
        likened = plain.translate(_LOOKALIKES)
        if likened != plain and _COMPILED["override"].search(likened):
            return "override"
    return None


def _may_have(sign: str, plain: str) -> bool:
    hints = _HINTS.get(sign)
    return hints is None or any(map(plain.__contains__, hints))


def _hides_letters(text: str) -> bool:
    if text.isascii():
        return False
    return sum(1 for _ in _HIDDEN_INSIDE_WORD.finditer(text)) > _HIDDEN_ALLOWED
