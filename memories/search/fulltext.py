"""The text index: which memories have the words of a task, and how well they match.

The engine keeps the inverted index (FTS5 on SQLite, GIN on PostgreSQL) and answers postings alone; the terms are
our own, and so are BM25 and the measure of a match, so that a vault is ranked alike on either. The rules:

- Every term in the index begins with the id of its vault: a lookup cannot leave the vault.
- A task never becomes a query: its terms are bound as values, and no parser of operators ever sees them.
- What narrows a search narrows it before the limit.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from memories.core.text import content_terms, join_grams, term_words
from memories.models import SearchDocument
from memories.rows import delete_rows, in_chunks
from memories.search.choosing import best_places

BM25_K1: Final = 0.9
BM25_B: Final = 0.3
LIMIT: Final = 1_000
TERMS_LIMIT: Final = 64  # of a longer task the rarest count
FREQUENT_FROM: Final = 2_000  # memories; what more of them have tells little of what a text is about
RAREST_ASKED: Final = 4  # are looked up all the same, however frequent
SHARED_ENOUGH: Final = 2  # terms
# A task of a hundred words is not answered by a memory that has them all: so many of its rarest are a whole match.
WHOLE_TERMS: Final = 6
LONG_FROM: Final = (
    8  # terms; what is longer holds more than one question, and its rarest words may be beside them
)
WHOLE_OF_LONG: Final = 4
NAMED_LIMIT: Final = 16  # of the words that a memory shares with a task, so many are named
# In a handful of memories every word is frequent; a match is measured as if there were this many.
SMALLEST_COLLECTION: Final = 100
_DIGITS: Final = 6

_Integers = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalHit:
    """One memory that has words of a task.

    `score` is BM25, to be compared within one lookup; `coverage` (0..1) is the share of the task's content, rare
    words weighing more, that the memory has: comparable between tasks. `strength` (0..1) is the same for a short
    task; of a long one a few rare words are a whole match. `matched` are words as the task has them, lower-cased.
    """

    memory_id: int
    score: float
    coverage: float
    strength: float
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TermScores:
    """How each document of a vault that has a term of a task scores, term by term.

    `ids` are memory ids in rising order; `gains` (documents × terms) holds each term's share of the BM25 score, 0
    where the document lacks it. `weights` say what part of a match each term is, absolutely and for every task
    alike: rare words more; those that a document has add up to its strength, and 1 or more is a whole match.
    `words` are the task's own, lower-cased, one for each term.
    """

    ids: _Integers
    gains: _Floats
    weights: _Floats
    words: tuple[str, ...]

    def matched_words(self, rows: _Integers) -> list[tuple[str, ...]]:
        """Name for each of these rows of `gains` the task's words that it has, at most 16."""
        return _matched_words(self.gains[rows] > 0, self.words, self.weights)


# -- Writing -------------------------------------------------------------------------------------


def index(rows: Sequence[tuple[int, str]], *, vault_id: str, language: str) -> None:
    """Make memories findable by their words.

    Args:
        rows: memory id and text; what was indexed under an id is replaced.
    """
    documents = [_document(memory_id, text, vault_id, language) for memory_id, text in dict(rows).items()]
    with transaction.atomic(savepoint=False):
        remove(vault_id, [document.memory_id for document in documents])
        SearchDocument.objects.bulk_create(documents)


def remove(vault_id: str, memory_ids: Collection[int]) -> int:
    """Take memories out of the index.

    Returns: how many were in it.
    """
    documents = SearchDocument.objects.filter(vault_id=vault_id)
    with transaction.atomic(savepoint=False):
        return sum(delete_rows(documents.filter(memory_id__in=ids)) for ids in in_chunks(tuple(memory_ids)))


def _document(memory_id: int, text: str, vault_id: str, language: str) -> SearchDocument:
    found = content_terms(text, language)
    repeats = {term: times for term, times in Counter(found).items() if times > 1}
    return SearchDocument(
        memory_id=memory_id,
        vault_id=vault_id,
        language=language,
        length=len(found),
        repeats=repeats or None,
        terms=[vault_id + term for term in found],
    )


# -- Asking --------------------------------------------------------------------------------------


def lookup(
    task: str, *, vault_id: str, language: str, allowed: Collection[int] | None = None, limit: int = LIMIT
) -> tuple[LexicalHit, ...]:
    """Find the memories that have words of a task.

    Args:
        task: any text; stop words do not count.
        allowed: ids that may be answered, chosen before the limit; None for all of the vault.
    Returns: best first, ties by id; two statements, a third for a task of more than 64 terms.
    """
    words = _content_words(task, language)
    if not words or limit < 1 or (allowed is not None and not allowed):
        return ()
    collection = _measure(vault_id)
    asked = _rarest(list(words), vault_id)
    table = _tabulate(_postings(asked, vault_id), asked=len(asked))
    scores = _bm25(table, collection)
    coverage = _coverage(table, collection)
    strengths = (coverage * _stretch(table, collection)).clip(max=1.0).round(_DIGITS)
    order = best_places(table.ids, scores, allowed=allowed, limit=limit)
    weights = _idf(table, collection.size)
    matched = _matched_words(table.times[order] > 0, [words[term] for term in asked], weights)
    return tuple(
        LexicalHit(memory_id=memory_id, score=score, coverage=share, strength=strength, matched=found)
        for memory_id, score, share, strength, found in zip(
            *(column[order].tolist() for column in (table.ids, scores, coverage, strengths)),
            matched,
            strict=True,
        )
    )


def alike(
    texts: Sequence[str],
    *,
    vault_id: str,
    language: str,
    allowed: Callable[[Sequence[int]], Collection[int]] | None = None,
    limit: int,
) -> list[list[int]]:
    """Find for each of many texts the memories that may speak of the same thing.

    They share half of the shorter one's terms, or two terms where that is more than two. In a large vault, terms that
    very many memories have are not looked up for a text that has rarer ones.

    Args:
        allowed: tells which of some memories may be answered, before the limit; asked once. None: any.
    Returns: for each text up to `limit` memory ids, the best by BM25 first, ties by id; as many statements as for
        one text: two, a third in a large vault.
    """
    asked = [list(dict.fromkeys(content_terms(text, language))) for text in texts]
    every = list(dict.fromkeys(term for found in asked for term in found))
    if not every:
        return [[] for _ in texts]
    collection = _measure(vault_id)
    if collection.size > FREQUENT_FROM:
        frequencies = _frequencies(every, vault_id)
        asked = [_rare_ones(found, frequencies) for found in asked]
        every = list(dict.fromkeys(term for found in asked for term in found))
    postings = _Postings.of(_postings(every, vault_id), asked=len(every), collection=collection)
    column = {term: place for place, term in enumerate(every)}
    among = None if allowed is None else frozenset(allowed(postings.ids.tolist()))
    return [
        postings.best(
            [column[term] for term in found],
            words=sum(not term.isdecimal() for term in found),
            allowed=among,
            limit=limit,
        )
        for found in asked
    ]


def score_terms(task: str, *, vault_id: str, language: str) -> TermScores:
    """Score every document of a vault on each term of a task by itself.

    What a memory's neighbours say counts for it, so a caller needs the terms apart, and those documents, too, that
    it may not answer: which ones count is for the caller to choose.

    Returns: two statements, a third for a task of more than 64 terms; none for a task without content.
    """
    words = _content_words(task, language)
    if not words:
        return TermScores(
            ids=np.zeros(0, dtype=np.int64),
            gains=np.zeros((0, 0)),
            weights=np.zeros(0),
            words=(),
        )
    collection = _measure(vault_id)
    asked = _rarest(list(words), vault_id)
    table = _tabulate(_postings(asked, vault_id), asked=len(asked))
    idf = _idf(table, max(collection.size, SMALLEST_COLLECTION))
    whole = WHOLE_TERMS if len(asked) <= LONG_FROM else WHOLE_OF_LONG
    return TermScores(
        ids=table.ids,
        gains=_gains(table, collection, idf),
        weights=idf / np.sort(idf)[-whole:].sum(),
        words=tuple(words[term] for term in asked),
    )


def holding(text: str, *, vault_id: str, language: str, among: Collection[int] | None = None) -> int:
    """Count the documents that consist of exactly the terms of a text, in whatever order.

    Args:
        among: count only these memories.
    """
    wanted = Counter(content_terms(text, language))
    if not wanted:
        return 0
    asked = _rarest(list(wanted), vault_id)
    table = _tabulate(_postings(asked, vault_id), asked=len(asked))
    times = np.array([wanted[term] for term in asked], dtype=np.int64)
    same = (table.times == times).all(axis=1) & (table.lengths == wanted.total())
    held: list[int] = table.ids[same].tolist()
    return len(held if among is None else set(held).intersection(among))


def holding_any(texts: Mapping[str, Collection[int]], *, vault_id: str, language: str) -> int:
    """Count the documents that consist of exactly the terms of texts, each among some memories only.

    A text of very many terms is known by the longest ones and its length.

    Args:
        texts: text → the memories that count for it.
    Returns: as many as `holding` finds text by text; a statement for each 500 distinct terms.
    """
    wanted = {text: Counter(content_terms(text, language)) for text in texts}
    asked = {text: sorted(found, key=len)[-TERMS_LIMIT:] for text, found in wanted.items()}
    among = frozenset(pk for pks in texts.values() for pk in pks)
    lengths: dict[int, int] = {}
    times = Counter[tuple[int, str]]()
    for some in in_chunks(dict.fromkeys(term for terms in asked.values() for term in terms)):
        for place, pk, length, count in _postings(some, vault_id):
            if pk in among:
                lengths[pk] = length
                times[pk, some[place]] += count
    return sum(
        lengths.get(pk) == wanted[text].total()
        and all(times[pk, term] == wanted[text][term] for term in asked[text])
        for text, pks in texts.items()
        for pk in pks
    )


def compact(*, pages: int | None = None) -> None:
    """Rewrite the index without what removed memories left in it.

    FTS5 only marks what is deleted and drops it when it merges; on PostgreSQL vacuuming does this by itself.

    Args:
        pages: stop after about so many pages; the next call goes on from there. None: to the end.
    """
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        if pages is None:
            cursor.execute("INSERT INTO memories_fulltext (memories_fulltext) VALUES ('optimize')")
        else:  # a negative number merges everything into one segment, which alone drops what is deleted
            cursor.execute(
                "INSERT INTO memories_fulltext (memories_fulltext, rank) VALUES ('merge', %s)", [-pages]
            )


def check() -> None:
    """Touch the engine's index.

    Raises: DatabaseError if it is not there or cannot be read.
    """
    _postings(["0"], "")


def _content_words(task: str, language: str) -> dict[str, str]:
    """Return each distinct content term of a task with the word that it came from, in the task's order."""
    content = frozenset(content_terms(task, language))
    return {term: word for term, word in term_words(task, language).items() if term in content}


# -- Counting ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Collection:
    size: int
    mean_length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """Documents × asked terms: how often each has each."""

    ids: _Integers
    lengths: _Integers
    times: _Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Postings:
    """Which documents have each of many terms, term after term."""

    ids: _Integers  # memory ids
    lengths: _Integers  # of their documents
    starts: _Integers  # where each term's postings begin, and where the last one's end
    rows: _Integers  # of each posting: the place of its document in `ids`
    gains: _Floats  # of each posting: its share of a BM25 score

    @classmethod
    def of(
        cls, found: Sequence[tuple[int, int, int, int]], *, asked: int, collection: _Collection
    ) -> "_Postings":
        columns = np.array(found, dtype=np.int64).reshape(-1, 4)
        ids, first, row = np.unique(columns[:, 1], return_index=True, return_inverse=True)
        cells, place = np.unique(columns[:, 0] * len(ids) + row, return_inverse=True)
        times = np.bincount(place, weights=columns[:, 3], minlength=len(cells))
        terms, rows = np.divmod(cells, max(1, len(ids)))
        starts = np.searchsorted(terms, np.arange(asked + 1))
        lengths = columns[first, 2]
        norms = BM25_K1 * (1 - BM25_B + BM25_B * lengths[rows] / max(collection.mean_length, 1.0))
        weights = _weights_of(np.diff(starts), collection.size)
        gains = times * (BM25_K1 + 1) / (times + norms) * weights[terms]
        return cls(ids=ids, lengths=lengths, starts=starts, rows=rows, gains=gains)

    def best(
        self, terms: Sequence[int], *, words: int, allowed: frozenset[int] | None, limit: int
    ) -> list[int]:
        """Return the documents that may speak of the same as one that has these terms, the best first.

        Args:
            words: how many of the terms are no figures, which is where two that speak of the same differ.
            allowed: the ids that may be answered; None for any.
        """
        if not terms:
            return []
        runs = [slice(self.starts[term], self.starts[term + 1]) for term in terms]
        rows = np.concatenate([self.rows[run] for run in runs])
        shared = np.bincount(rows, minlength=len(self.ids))
        shorter = np.minimum(self.lengths, words)
        near = np.flatnonzero(shared >= np.minimum((shorter + 1) // 2, SHARED_ENOUGH).clip(min=1))
        gains = np.concatenate([self.gains[run] for run in runs])
        summed = np.bincount(rows, weights=gains, minlength=len(self.ids))
        scores = summed.astype(np.float64).round(_DIGITS)
        places = best_places(self.ids[near], scores[near], allowed=allowed, limit=limit)
        return list(self.ids[near][places].tolist())


def _measure(vault_id: str) -> _Collection:
    ((size, length),) = _fetch(_MEASURE, [vault_id])
    return _Collection(size=size, mean_length=length / size if size else 0.0)


def _tabulate(postings: Sequence[tuple[int, int, int, int]], *, asked: int) -> _Table:
    """Lay out postings (asked term, memory id, document length, times), which may repeat."""
    columns = np.array(postings, dtype=np.int64).reshape(-1, 4)
    ids, first, row = np.unique(columns[:, 1], return_index=True, return_inverse=True)
    cells = row * asked + columns[:, 0]
    times = np.bincount(cells, weights=columns[:, 3], minlength=len(ids) * asked)
    return _Table(
        ids=ids,
        lengths=columns[first, 2],
        times=times.astype(np.int64).reshape(len(ids), asked),
    )


def _idf(table: _Table, size: int) -> _Floats:
    """Return each asked term's weight: the rarer, the more; one that occurs nowhere weighs most."""
    return _weights_of((table.times > 0).sum(axis=0), size)


def _weights_of(having: _Integers, size: int) -> _Floats:
    """Return the weights of terms that so many documents of a collection have."""
    weights: _Floats = np.log1p((np.maximum(size, having) - having + 0.5) / (having + 0.5))
    return weights


def _gains(table: _Table, collection: _Collection, idf: _Floats) -> _Floats:
    """Return what each term adds to each document's BM25 score."""
    norms = BM25_K1 * (1 - BM25_B + BM25_B * table.lengths / max(collection.mean_length, 1.0))
    gains: _Floats = table.times * (BM25_K1 + 1) / (table.times + norms[:, np.newaxis])
    return gains * idf


def _bm25(table: _Table, collection: _Collection) -> _Floats:
    # Rounded: a sum must not depend on how an engine or a processor ordered it.
    scores: _Floats = _gains(table, collection, _idf(table, collection.size)).sum(axis=1).round(_DIGITS)
    return scores


def _coverage(table: _Table, collection: _Collection) -> _Floats:
    weights = _idf(table, max(collection.size, SMALLEST_COLLECTION))
    shares: _Floats = (((table.times > 0) * weights).sum(axis=1) / weights.sum()).round(_DIGITS)
    return shares


def _stretch(table: _Table, collection: _Collection) -> float:
    """Return by how much a match of a long task counts for more than its share; 1 for a short one."""
    weights = _idf(table, max(collection.size, SMALLEST_COLLECTION))
    return float(weights.sum() / np.sort(weights)[-WHOLE_TERMS:].sum())


def _matched_words(
    having: NDArray[np.bool_], words: Sequence[str], weights: _Floats
) -> list[tuple[str, ...]]:
    """Name for each row the words that it has; rows fall into few patterns, each worked out once."""
    known: dict[bytes, tuple[str, ...]] = {}
    named = []
    for row in having:
        pattern = row.tobytes()
        if pattern not in known:
            places = row.nonzero()[0]
            known[pattern] = _most_telling(
                {words[place]: weight for place, weight in zip(places, weights[places], strict=True)}
            )
        named.append(known[pattern])
    return named


def _most_telling(weights: Mapping[str, float]) -> tuple[str, ...]:
    """Return a match's words in their order; of very many the rarest, for every answer pays for them."""
    words = join_grams(weights)
    if len(words) <= NAMED_LIMIT:
        return tuple(words)
    worth = {word: max(weight for part, weight in weights.items() if part in word) for word in words}
    rarest = frozenset(sorted(words, key=lambda word: -worth[word])[:NAMED_LIMIT])
    return tuple(word for word in words if word in rarest)


# -- The engines ---------------------------------------------------------------------------------

_MEASURE: Final = "SELECT count(*), coalesce(sum(length), 0) FROM memories_searchdocument WHERE vault_id = %s"
# CROSS JOIN keeps SQLite's planner from starting at the documents: the terms come first.
_SQLITE_POSTINGS: Final = """
    SELECT asked.key, found.doc, document.length, 1
    FROM json_each(%s) AS asked
    CROSS JOIN memories_fulltext_occurrences AS found ON found.term = asked.value
    CROSS JOIN memories_searchdocument AS document
        ON document.memory_id = found.doc AND document.vault_id = %s"""
_SQLITE_FREQUENCIES: Final = """
    SELECT asked.key, found.doc /* vault_id: within the terms */
    FROM json_each(%s) AS asked CROSS JOIN memories_fulltext_terms AS found ON found.term = asked.value"""
_POSTGRES_POSTINGS: Final = """
    SELECT asked.place - 1, document.memory_id, document.length,
        coalesce((document.repeats ->> asked.term)::int, 1)
    FROM unnest(%s::text[]) WITH ORDINALITY AS asked (term, place)
    JOIN memories_searchdocument AS document
        ON document.vault_id = %s AND document.terms @> ARRAY[%s || asked.term]"""
_POSTGRES_FREQUENCIES: Final = """
    SELECT asked.place - 1, count(*)
    FROM unnest(%s::text[]) WITH ORDINALITY AS asked (term, place)
    JOIN memories_searchdocument AS document
        ON document.vault_id = %s AND document.terms @> ARRAY[%s || asked.term]
    GROUP BY asked.place"""


def _postings(asked: Sequence[str], vault_id: str) -> list[tuple[int, int, int, int]]:
    """Return (asked term, memory id, document length, times) for every document that has an asked term."""
    if connection.vendor == "postgresql":
        return _fetch(_POSTGRES_POSTINGS, [list(asked), vault_id, vault_id])
    return _fetch(_SQLITE_POSTINGS, [json.dumps([vault_id + term for term in asked]), vault_id])


def _rarest(found: list[str], vault_id: str) -> list[str]:
    """Cut a long list of terms down to those that the fewest documents have, in their old order."""
    if len(found) <= TERMS_LIMIT:
        return found
    having = _frequencies(found, vault_id)
    rarest = frozenset(sorted(found, key=having.__getitem__)[:TERMS_LIMIT])
    return [term for term in found if term in rarest]


def _rare_ones(found: list[str], frequencies: Mapping[str, int]) -> list[str]:
    rarest = frozenset(sorted(found, key=frequencies.__getitem__)[:RAREST_ASKED])
    return [term for term in found if term in rarest or frequencies[term] <= FREQUENT_FROM]


def _frequencies(asked: list[str], vault_id: str) -> dict[str, int]:
    """Return how many documents have each term."""
    if connection.vendor == "postgresql":
        rows = _fetch(_POSTGRES_FREQUENCIES, [asked, vault_id, vault_id])
    else:
        rows = _fetch(_SQLITE_FREQUENCIES, [json.dumps([vault_id + term for term in asked])])
    having = dict(rows)
    return {term: having.get(place, 0) for place, term in enumerate(asked)}


def _fetch(statement: str, values: list[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
