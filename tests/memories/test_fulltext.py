import math
import random
import string
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.core.text import content_terms
from memories.models import SearchDocument, Vault
from memories.search import fulltext
from tests.factories import make_vault

pytestmark = pytest.mark.django_db

LANGUAGE = "english"


@pytest.fixture
def vault() -> Vault:
    return make_vault()


def index(vault: Vault, *texts: str, first: int = 1) -> None:
    fulltext.index(list(enumerate(texts, start=first)), vault_id=vault.pk, language=vault.language)


def lookup(vault: Vault, task: str, **options: Any) -> tuple[fulltext.LexicalHit, ...]:
    return fulltext.lookup(task, vault_id=vault.pk, language=vault.language, **options)


def found(vault: Vault, task: str, **options: Any) -> list[int]:
    return [hit.memory_id for hit in lookup(vault, task, **options)]


@contextmanager
def statements(limit: int) -> Iterator[None]:
    with CaptureQueriesContext(connection) as captured:
        yield
    assert len(captured) <= limit, [query["sql"] for query in captured]


# -- Finding -------------------------------------------------------------------------------------


def test_it_finds_inflected_words_best_first(vault):
    index(vault, "Ana plans the launch", "Planning a launch needs a plan for planning", "Ben likes tea")
    assert found(vault, "launch plan") == [2, 1]


@pytest.mark.parametrize("task", ["", "   ", "the of and", "*", '""', "-", "???", "\u200b", "()"])
def test_a_task_without_content_finds_nothing(vault, task):
    index(vault, "The office is on the fourth floor", "of and the")
    assert lookup(vault, task) == ()


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("You don't need it", "don't"),
        ("See a1/b2 there", "a1/b2"),
        ("A pre-edit hook", "pre-edit"),
        ("TODO: rotate", "TODO: rotate"),
        ("Run with --flag", '"--flag"'),
        ("Then (parenthesis follows", "(parenthesis"),
        ("star of the show", "star*"),
        ("caret first", "^caret"),
        ("alpha near beta", "NEAR(alpha beta)"),
        ("alpha and omega", "alpha AND"),
        ("never not now", "NOT"),
        ("Ubuntu 20.04 it is", "20.04"),
        ("call f(x); drop table", "'; DROP TABLE memories_memory; --"),
        ("rowid and terms", "terms : rowid"),
    ],
)
def test_what_looks_like_an_operator_is_text(vault, text, task):
    index(vault, "Nothing of the kind", text)
    assert found(vault, task) == [2]


@pytest.mark.parametrize("mark", string.punctuation)
def test_any_punctuation_only_separates(vault, mark):
    index(vault, f"{mark}gamma de{mark}lta ome{mark} {mark}", "unrelated")
    for task in (f"{mark}gamma", f"gamma{mark}", f"de{mark}lta", f"{mark} gamma {mark}"):
        assert found(vault, task) == [1], task
    assert lookup(vault, mark) == ()


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("设备清单在抽屉里", "设备"),
        ("设备清单在抽屉里", "清单"),
        ("设备清单在抽屉里", "抽屉"),
        ("他的花名是小鱼", "花名"),
        ("我们去广西旅行", "广西 OR 桂林"),
        ("カナで書く", "カナ"),
        ("조선 시대의 그릇", "조선"),
        ("NAS設定はここ", "NAS設定"),
        ("NAS設定はここ", "設定"),
        ("ห้องประชุมอยู่ชั้นสาม", "ประชุม"),
        ("المكتب في الطابق الرابع", "الطابق"),
        ("הפגישה ביום שני", "הפגישה"),
        ("Встреча в понедельник", "встреча"),
        ("cafe\u0301 Zoe\u0308", "café Zoë"),
        ("café Zoë", "CAFE zoe"),
        ("Zimmer １２３", "123"),
        ("Die Straße ist gesperrt", "strasse"),
    ],
)
def test_every_script_is_found(vault, text, task):
    index(vault, "Nothing of the kind", text)
    assert found(vault, task) == [2]


def test_it_reads_a_long_text_to_its_end(vault):
    index(vault, "filler words follow " * 3_000 + "marker zebrafish", "short and plain")
    assert found(vault, "zebrafish") == [1]


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80))
def test_a_text_is_found_by_its_own_words(vault, text):
    index(vault, text)
    hits = lookup(vault, text)
    if content_terms(text):
        assert [(hit.memory_id, hit.coverage) for hit in hits] == [(1, 1.0)]
        assert all(word == word.lower() for word in hits[0].matched)
        assert fulltext.holding(text, vault_id=vault.pk, language=LANGUAGE) == 1
    else:
        assert hits == ()


def test_a_task_of_very_many_words_is_read_by_its_rarest(vault):
    common = [f"common{number}" for number in range(100)]
    index(vault, " ".join(common), " ".join(common), " ".join([*common, "zebrafish"]), "zebrafish")
    with statements(3):
        hits = lookup(vault, " ".join([*common, "zebrafish"]))
    assert {hit.memory_id for hit in hits} == {1, 2, 3, 4}
    assert "zebrafish" in hits[0].matched
    assert len(hits[0].matched) == fulltext.NAMED_LIMIT


# -- Ranking -------------------------------------------------------------------------------------


def test_ties_go_to_the_smaller_id(vault):
    index(vault, *["the red door"] * 5, first=10)
    assert found(vault, "door", limit=3) == [10, 11, 12]


def test_matched_are_words_of_the_task_in_lower_case(vault):
    index(vault, "planning for the ATLAS launches")
    (hit,) = lookup(vault, "When does the Atlas launch plan change?")
    assert hit.matched == ("atlas", "launch", "plan")


def test_scores_are_bm25_over_the_vault(vault):
    index(vault, "red red blue", "green")
    (hit,) = lookup(vault, "red")
    idf, times, length, mean = 0.693147, 2, 3, 2
    expected = idf * times * 1.9 / (times + 0.9 * (0.7 + 0.3 * length / mean))
    assert hit.score == pytest.approx(expected, abs=1e-5)


def test_every_engine_ranks_like_the_formula(vault):
    rng = random.Random(11)
    vocabulary = [f"{first}{second}ko" for first in "bdfgklmn" for second in "aeiou"]
    texts = [" ".join(rng.choices(vocabulary, k=rng.randint(1, 30))) for _ in range(120)]
    index(vault, *texts)
    for _ in range(10):
        asked = list(dict.fromkeys(rng.choices([*vocabulary, "nuhuzz"], k=5)))
        expected = by_the_formula(texts, asked)
        hits = lookup(vault, " ".join(asked))
        assert [hit.memory_id for hit in hits] == sorted(expected, key=lambda pk: (-expected[pk], pk))
        assert [hit.score for hit in hits] == pytest.approx(
            [expected[hit.memory_id] for hit in hits], abs=1e-5
        )


def by_the_formula(texts: list[str], asked: list[str]) -> dict[int, float]:
    bags = [content_terms(text) for text in texts]
    asked = [content_terms(word)[0] for word in asked]
    mean, scores = sum(map(len, bags)) / len(bags), dict[int, float]()
    for word in asked:
        having = sum(word in bag for bag in bags)
        idf = math.log(1 + (len(bags) - having + 0.5) / (having + 0.5))
        for pk, bag in enumerate(bags, start=1):
            if times := bag.count(word):
                norm = 0.9 * (0.7 + 0.3 * len(bag) / mean)
                scores[pk] = scores.get(pk, 0.0) + idf * times * 1.9 / (times + norm)
    return {pk: round(score, 6) for pk, score in scores.items()}


def test_rankings_ignore_other_vaults(vault):
    texts = ["red door", "red red wall", "door and wall"]
    index(vault, *texts)
    before = lookup(vault, "red door")
    other = make_vault()
    index(other, *["red things everywhere"] * 30, first=100)
    assert lookup(vault, "red door") == before


def test_coverage_stays_low_where_one_common_word_is_shared(vault):
    index(vault, *[f"We build service number {n} with make" for n in range(20)], "Releases happen on Friday")
    hits = lookup(vault, "how to build a sourdough bread oven at home")
    assert hits
    assert max(hit.coverage for hit in hits) < 0.15


def test_coverage_is_high_where_a_memory_says_all_of_the_task(vault):
    index(vault, "The deploy freeze starts on Friday", "Lunch is at noon")
    (hit,) = lookup(vault, "When does the deploy freeze start?")
    assert hit.coverage == 1.0


def test_stop_words_add_nothing_to_coverage(vault):
    index(vault, "who is the one that it was for and why", "zebra")
    assert lookup(vault, "what was it that the zebra was for")[0].coverage == 1.0
    assert found(vault, "what was it that the zebra was for") == [2]


# -- Narrowing -----------------------------------------------------------------------------------


def test_filters_apply_before_the_limit(vault):
    index(vault, *["needle needle needle"] * 4_100, "a needle among a great deal of very long dry hay")
    assert found(vault, "needle", allowed={4_101}, limit=5) == [4_101]
    assert found(vault, "needle", allowed=set()) == []
    assert found(vault, "needle", allowed={9_999}) == []
    assert found(vault, "needle", limit=0) == []


def test_it_asks_the_same_few_statements_however_many_memories_there_are(vault):
    for size in (1, 50):
        index(vault, *["red door"] * size)
        with statements(2):
            lookup(vault, "which red door?", allowed=range(1_000))


def test_every_statement_names_the_vault(vault):
    words = " ".join(f"word{number}" for number in range(100))
    with CaptureQueriesContext(connection) as captured:
        index(vault, "red door", words)
        lookup(vault, words)
        fulltext.remove(vault.pk, [1])
        fulltext.holding(words, vault_id=vault.pk, language=LANGUAGE)
    named = [query["sql"] for query in captured if "memories_" in query["sql"]]
    assert named
    assert all("vault_id" in sql for sql in named)


# -- Vaults --------------------------------------------------------------------------------------


def test_a_vault_never_finds_the_memories_of_another(vault):
    other = make_vault()
    index(other, "red door", first=100)
    assert lookup(vault, "red door") == ()
    assert found(other, "red door") == [100]


@pytest.mark.parametrize("owner", ["", "*", "%", "[]", "0123456789'"])
def test_a_strange_vault_id_finds_nothing(vault, owner):
    index(vault, "red door")
    assert fulltext.lookup("red door", vault_id=owner, language=LANGUAGE) == ()
    assert fulltext.remove(owner, [1]) == 0
    assert found(vault, "red door") == [1]


def test_a_word_that_begins_with_a_vault_id_does_not_reach_into_it(vault):
    other = make_vault()
    index(other, "door", first=100)
    assert fulltext.lookup(f"{other.pk}door", vault_id="", language=LANGUAGE) == ()
    assert lookup(vault, f"{other.pk}door") == ()


def test_removing_needs_the_right_vault(vault):
    other = make_vault()
    index(vault, "red door")
    assert fulltext.remove(other.pk, [1]) == 0
    assert SearchDocument.objects.filter(vault_id=vault.pk).count() == 1


# -- Locks ---------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_lookup_does_not_wait_for_a_writer():
    vault = make_vault()
    index(vault, "red door")

    def ask() -> list[int]:
        try:
            return found(vault, "red door")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        index(vault, "red wall", first=2)
        assert pool.submit(ask).result(timeout=5) == [1]


# -- Replacing and erasing -----------------------------------------------------------------------


def test_indexing_again_replaces(vault):
    index(vault, "red door", "blue wall")
    index(vault, "green window")
    assert found(vault, "red door") == []
    assert found(vault, "green window") == [1]
    assert SearchDocument.objects.filter(vault_id=vault.pk).count() == 2


def test_indexing_the_same_twice_changes_nothing(vault):
    index(vault, "red door", "red wall")
    before = lookup(vault, "red door")
    index(vault, "red door", "red wall")
    assert lookup(vault, "red door") == before


def test_what_was_removed_is_held_no_more(vault):
    text = "The locker code is 4417"
    index(vault, text, "The locker is green", "Lunch is at noon")
    assert fulltext.holding(text, vault_id=vault.pk, language=LANGUAGE) == 1
    assert fulltext.remove(vault.pk, [1, 999]) == 1
    assert fulltext.holding(text, vault_id=vault.pk, language=LANGUAGE) == 0
    assert found(vault, "4417") == []


def test_holding_counts_whole_texts_only_and_among_those_asked_for(vault):
    index(vault, "Ana likes tea", "Ana likes green tea", "ANA LIKES TEA!", "tea tea Ana likes")
    assert fulltext.holding("Ana likes tea", vault_id=vault.pk, language=LANGUAGE) == 2
    assert fulltext.holding("Ana likes tea", vault_id=vault.pk, language=LANGUAGE, among={3, 4}) == 1
    assert fulltext.holding("???", vault_id=vault.pk, language=LANGUAGE) == 0


def test_the_index_follows_a_row_that_goes_by_another_way(vault):
    index(vault, "red door", "red wall")
    SearchDocument.objects.filter(vault_id=vault.pk, memory_id=1).delete()
    assert found(vault, "red") == [2]
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM memories_fulltext_terms WHERE term = %s", [f"{vault.pk}door"]
            )
            assert cursor.fetchone() == (0,)


def test_removing_very_many_is_possible(vault):
    index(vault, *["red door"] * 1_500)
    assert fulltext.remove(vault.pk, range(1, 40_000)) == 1_500


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL vacuums by itself")
def test_compacting_leaves_no_trace_of_what_was_removed(vault):
    def traces() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM memories_fulltext_data WHERE instr(block, %s)", [b"zebrafish"]
            )
            return int(cursor.fetchone()[0])

    index(vault, "A zebrafish swims", "A red door")
    assert found(vault, "zebrafish") == [1]
    assert traces() > 0
    fulltext.remove(vault.pk, [1])
    fulltext.compact()
    assert traces() == 0
    assert found(vault, "red door") == [2]


def test_a_missing_index_is_an_error_and_no_empty_answer(vault, monkeypatch):
    fulltext.check()
    broken = fulltext._SQLITE_POSTINGS.replace("memories_searchdocument", "memories_nowhere")
    monkeypatch.setattr(fulltext, "_SQLITE_POSTINGS", broken)
    monkeypatch.setattr(fulltext, "_POSTGRES_POSTINGS", broken)
    with pytest.raises(DatabaseError):
        lookup(vault, "red door")


class TestAlike:
    """Many texts at once: what may speak of the same as each of them."""

    def alike(self, vault, *texts, limit=10):
        return fulltext.alike(texts, vault_id=vault.pk, language=LANGUAGE, limit=limit)

    def test_each_text_finds_what_speaks_of_the_same(self, vault):
        index(vault, "The red door is locked", "The deadline is 3 March", "Ana likes tea")
        found = self.alike(
            vault, "The red door is open", "The deadline is 17 March", "Nothing of the kind", "???"
        )
        assert found == [[1], [2], [], []]

    def test_one_word_of_many_is_not_enough(self, vault):
        index(vault, "The red door of the old mill is locked at night")
        assert self.alike(vault, "A door bell rang while we were eating supper") == [[]]

    def test_figures_do_not_make_a_short_claim_longer(self, vault):
        index(vault, "The meeting is at 10:30 in 2027")
        assert self.alike(vault, "The meeting is at 9:40 in 2026") == [[1]]

    def test_the_best_come_first_and_no_more_than_asked_for(self, vault):
        index(vault, "red door", "red door locked", "red door locked tonight")
        assert self.alike(vault, "red door locked tonight", limit=2) == [[3, 2]]

    def test_it_looks_into_no_other_vault(self, vault):
        other = make_vault()
        index(other, "The red door is locked")
        assert self.alike(vault, "The red door is open") == [[]]

    def test_what_a_large_vault_is_full_of_is_looked_up_where_a_text_has_nothing_rarer(
        self, vault, monkeypatch
    ):
        monkeypatch.setattr(fulltext, "FREQUENT_FROM", 2)
        index(vault, "red door", "red door", "red door", "red door of the mill")
        assert self.alike(vault, "red door", "red door of the mill") == [[1, 2, 3, 4], [4, 1, 2, 3]]
        monkeypatch.setattr(fulltext, "RAREST_ASKED", 1)
        assert self.alike(vault, "red door of the mill") == [[4]]

    def test_many_texts_cost_as_many_statements_as_one(self, vault, django_assert_num_queries):
        index(vault, "The red door is locked", "The deadline is 3 March")
        for texts in (["The red door is open"], ["The red door is open", "The deadline is 17 March"] * 20):
            with django_assert_num_queries(2):
                self.alike(vault, *texts)
