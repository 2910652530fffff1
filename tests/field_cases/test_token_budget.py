"""A budget is kept, and it buys what is best, whatever the sizes, scripts and bodies (F1, F2, F3, F4, F7, F8)."""

import json
from functools import cache
from typing import Any

import pytest
import quicktok

from memories.core.kinds import Kind
from tests.clients import api_of
from tests.wire.asking import ask, blamed, fill, get, items, pack, refs, smp, tool
from tests.wire.corpora import TASK, make_corpus

pytestmark = pytest.mark.django_db

LARGE = "The harbour office opens at nine. " + " ".join(
    f"On page {number} of the harbour book stands the berth of ship {number * 7}." for number in range(330)
)
SMALL = tuple(f"The harbour has a {thing}" for thing in (
    "bell", "flag", "crane", "ladder", "lamp", "compass", "barometer", "rowing boat", "stamp",
))  # fmt: skip
PROFILES = [None, "claude", "gpt-4o", "gpt-4", "cursor"]
KNAPSACKS = ["claude", "gpt-4o", "cursor"]
FORMATS = ["json", "smp", "markdown"]
ALLOWED_EXCESS = 1.10


@cache
def tokenizer(encoding: str) -> Any:
    return quicktok.get_encoding(encoding)


def real_tokens(text: str, model: str | None) -> int:
    """Count as the model's own tokenizer does; for Claude, whose tokenizer is not at hand, as the larger of two."""
    encodings = {"gpt-4o": ("o200k_base",), "gpt-4": ("cl100k_base",)}.get(
        model or "", ("o200k_base",) if model == "cursor" else ("cl100k_base", "o200k_base")
    )
    return max(len(tokenizer(encoding).encode(text)) for encoding in encodings)


def sent_items(response: Any, fmt: str) -> str:
    """Return the part of a body that the budget is for: the items as they are sent."""
    if fmt == "markdown":
        return "".join(f"{line}\n" for line in response.content.decode().splitlines()[1:])
    body = response.json()
    part = body["layers"] if fmt == "json" else body["items"]
    return json.dumps(part, ensure_ascii=False, separators=(",", ":"))


@pytest.fixture
def api():
    return api_of()


class TestLargeAndSmall:
    """F1, F2, F3: one memory of five thousand tokens that answers best, and nine small ones."""

    @pytest.fixture
    def large(self, api):
        (ref,) = fill(api, LARGE, summary="The harbour office opens at nine; its book lists the berths.")
        fill(api, *SMALL)
        return ref

    @pytest.mark.parametrize("model", PROFILES)
    def test_the_small_ones_are_packed(self, api, large, model):
        body = smp(api, "When does the harbour office open?", model=model, token_budget=1_200)
        assert len(items(body)) >= 7
        assert body["budget"]["used"] <= 1_200

    @pytest.mark.parametrize("model", KNAPSACKS)
    def test_the_best_comes_in_a_shorter_form_and_packing_goes_on(self, api, large, model):
        for budget in (600, 900, 1_500):
            body = pack(
                api,
                "When does the harbour office open? See page and berth.",
                model=model,
                token_budget=budget,
            )
            rows = {row["ref"]: row for row in items(body)}
            assert rows[large]["rung"] in {"head", "summary"}
            assert len(rows) > 1

    @pytest.mark.parametrize("model", PROFILES)
    @pytest.mark.parametrize("fmt", FORMATS)
    def test_the_budget_is_never_exceeded_however_large_the_best_is(self, api, large, model, fmt):
        for budget in (300, 301, 450, 600):
            response = ask(
                api, "When does the harbour office open?", model=model, token_budget=budget, format=fmt
            )
            assert real_tokens(sent_items(response, fmt), model) <= budget * ALLOWED_EXCESS
            if fmt != "markdown":
                assert response.json()["budget"]["used"] <= response.json()["budget"]["tokens"] == budget

    @pytest.mark.parametrize("model", PROFILES)
    def test_one_memory_alone_larger_than_the_budget_is_not_sent_whole(self, api, model):
        fill(api, LARGE)
        body = pack(api, "When does the harbour office open?", model=model, token_budget=300)
        assert body["budget"]["used"] <= 300
        assert [row["rung"] for row in items(body)] == ["head"]

    def test_a_rule_is_kept_under_pressure(self, api, large):
        (rule,) = fill(api, "Never moor at the north quay", kind=Kind.NEGATIVE)
        for model in PROFILES:
            assert rule in refs(smp(api, "When does the harbour office open?", model=model, token_budget=300))


class TestWhatIsCounted:
    """F4: the items as they are sent, keys and citations included; not the bare facts."""

    @pytest.mark.parametrize("model", PROFILES)
    @pytest.mark.parametrize("fmt", ["json", "smp"])
    def test_used_is_what_a_real_tokenizer_counts(self, api, model, fmt):
        make_corpus(api.vault, 80)
        for budget in (600, 2_000):
            response = ask(api, TASK, model=model, token_budget=budget, format=fmt)
            real = real_tokens(sent_items(response, fmt), model)
            used = response.json()["budget"]["used"]
            assert real <= used * ALLOWED_EXCESS
            assert used <= real * 1.35

    def test_a_tools_result_is_no_larger_than_its_twin(self, api):
        make_corpus(api.vault, 80)
        asked = {"task": TASK, "model": "gpt-4o", "token_budget": 900, "format": "smp", "legend": False}
        by_route = api.post("context", asked).content
        by_tool = tool(api, "get_context", **asked).content
        assert len(by_tool) < len(by_route) + 100
        whole = real_tokens(by_tool.decode(), "gpt-4o")
        assert whole <= 900 * ALLOWED_EXCESS + 600

    def test_a_legend_is_a_fixed_price(self, api):
        empty = len(ask(api, "x", format="smp").content)
        make_corpus(api.vault, 80)
        response = ask(api, TASK, format="smp", model="gpt-4o", token_budget=900)
        frame = len(response.content) - len(json.dumps(response.json()["items"], ensure_ascii=False).encode())
        assert frame < empty + 2_000


SCRIPTS = {
    "chinese": "港口办公室在第{n}码头的红色大楼里,每天上午九点开门,钥匙由门房保管。",
    "japanese": "港の事務所は第{n}埠頭の赤い建物にあり、毎朝九時に開きます。鍵は守衛が持っています。",
    "korean": "항구 사무실은 제{n}부두의 붉은 건물에 있으며 매일 아침 아홉 시에 문을 엽니다.",
    "thai": "สำนักงานท่าเรืออยู่ในอาคารสีแดงที่ท่าเทียบเรือ {n} เปิดทุกวันเวลาเก้าโมงเช้า",
    "arabic": "يقع مكتب الميناء في المبنى الأحمر عند الرصيف {n} ويفتح كل يوم في الساعة التاسعة صباحا",
    "hebrew": "משרד הנמל נמצא בבניין האדום ברציף {n} ונפתח בכל יום בתשע בבוקר",
    "hindi": "बंदरगाह कार्यालय घाट {n} की लाल इमारत में है और हर दिन सुबह नौ बजे खुलता है",
    "russian": "Портовая контора находится в красном здании у причала {n} и открывается в девять утра",
    "emoji": "Harbour office ⚓🏢 pier {n} 🚢🚢 opens 🕘 every day 🎉🥳👨‍👩‍👧‍👦 key 🔑 with 👮‍♀️",
    "code": "def open_office(pier={n}): return HARBOUR[pier].gate.unlock(key='0x{n:04x}') if hour >= 9 else None",
}  # fmt: skip


class TestScripts:
    """F7: a vault full of a script that four characters a token do not fit."""

    @pytest.mark.parametrize("script", SCRIPTS)
    def test_the_real_count_is_within_the_budget(self, api, script):
        texts = [SCRIPTS[script].format(n=number) for number in range(100, 220)]
        results = api.post("memories/bulk", {"memories": [{"content": text} for text in texts]}).json()[
            "results"
        ]
        assert {result["status"] for result in results} == {201}
        task = texts[50]
        for model in (None, "gpt-4o", "gpt-4"):  # of the Claude families: tests/core/test_token_packs.py
            for fmt in FORMATS:
                for budget in (400, 2_500):
                    response = ask(api, task, model=model, token_budget=budget, format=fmt)
                    text = sent_items(response, fmt)
                    assert len(text) > 200, "something was packed"
                    assert real_tokens(text, model) <= budget * ALLOWED_EXCESS


class TestOddBudgets:
    """F8: what is no number is refused; any number is brought into the range of the profile."""

    @pytest.mark.parametrize(
        ("asked", "given"), [(0, 300), (1, 300), (-1, 300), (10**9, 6_000), (None, 6_000)]
    )
    def test_a_number_is_clamped(self, api, asked, given):
        make_corpus(api.vault, 30)
        body = pack(api, TASK, token_budget=asked)
        assert body["budget"]["tokens"] == given
        assert 0 < body["budget"]["used"] <= given

    @pytest.mark.parametrize("asked", ["300", 300.5, 300.0, True, [], {}, "", "many"])
    def test_what_is_no_whole_number_is_refused(self, api, asked):
        response = ask(api, TASK, token_budget=asked)
        assert response.status_code == 422
        assert blamed(response) == {"token_budget"}

    @pytest.mark.parametrize(
        ("asked", "status"),
        [("300", 200), ("-1", 200), ("--5", 422), ("300.5", 422), ("", 422), ("１００", 422)],
    )
    def test_a_query_string_writes_it_in_digits(self, api, asked, status):
        assert get(api, "context", task=TASK, token_budget=asked).status_code == status

    @pytest.mark.parametrize("asked", [10**30, -(10**30)])
    def test_no_number_is_too_large(self, api, asked):
        assert ask(api, TASK, token_budget=asked).status_code in {200, 422}
