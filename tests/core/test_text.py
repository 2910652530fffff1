import sys
import threading
import unicodedata

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from memories.core.stopwords import NEGATIONS, STOP_WORDS_OF
from memories.core.text import (
    STOP_WORDS,
    content_hash,
    content_terms,
    hash_terms,
    head_sentence,
    join_grams,
    normalise,
    pack_hashes,
    sentences,
    term_hash,
    term_words,
    terms,
    unpack_hashes,
)

any_text = st.text(max_size=300)


class TestNormalise:
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("café Zoë", "cafe\u0301 Zoe\u0308"),
            ("café", "CAFE"),
            ("１２３ ＡＢＣ", "123 abc"),
            ("  a\t\nb\u00a0c ", "a b c"),
            ("Straße", "STRASSE"),
            ("ﾃﾞｰﾀ", "データ"),
            ("Łódź, Malmö, København", "lodz, malmo, kobenhavn"),
            ("Йод и ёлка", "иод и елка"),
            ("Άγιος", "αγιοσ"),
            ("İstanbul", "istanbul"),
            ("pass\u200bword", "password"),
        ],
    )
    def test_it_sees_past_width_case_accents_and_spacing(self, first, second):
        assert normalise(first) == normalise(second)

    @pytest.mark.parametrize(
        ("first", "second"),
        [("かき", "がき"), ("हिन्दी", "हन्दी"), ("60", "600"), ("It is.", "It is?"), ("설정", "설정값")],
    )
    def test_it_keeps_apart_what_differs(self, first, second):
        assert normalise(first) != normalise(second)

    @given(any_text)
    def test_it_changes_nothing_the_second_time(self, text):
        assert normalise(normalise(text)) == normalise(text)

    @given(any_text)
    def test_it_does_not_care_in_which_form_the_text_came(self, text):
        assert normalise(unicodedata.normalize("NFD", text)) == normalise(unicodedata.normalize("NFC", text))

    def test_it_hashes_equal_content_alike_and_keeps_trailing_punctuation(self):
        assert content_hash("We  use A") == content_hash("we use a")
        assert content_hash("We use A") != content_hash("We use A?")
        assert len(content_hash("\ud83d")) == 64


class TestTerms:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("We deployed the releases", ["we", "deploy", "the", "releas"]),
            ("snake_case", ["snakecas", "snake", "case"]),
            ("pre-edit", ["preedit", "pre", "edit"]),
            ("getUserName", ["getusernam", "get", "user", "name"]),
            ("HTTPServer", ["httpserver", "http", "server"]),
            ("a/b TODO: x", ["a", "b", "todo", "x"]),
            ("20.04", ["20d04", "20", "04"]),
            ("10ms", ["10ms", "10", "ms"]),
            ("C++ c# .NET", ["c", "c", "net"]),
            ("don't we're Ana's O'Brien", ["dont", "we", "ana", "obrien", "o", "brien"]),
            ("don’t", ["dont"]),
            ("设备清单", ["设", "设备", "备", "备清", "清", "清单", "单"]),
            ("NAS設定", ["nas", "設", "設定", "定"]),
            ("カナ", ["カ", "カナ", "ナ"]),
            ("조선", ["조", "조선", "선"]),
            ("１２", ["12"]),
            ("", []),
            ("*** --- ???", []),
        ],
    )
    def test_it_reads_words_identifiers_numbers_and_scripts(self, text, expected):
        assert terms(text) == expected

    @pytest.mark.parametrize(
        ("memory", "question", "language"),
        [
            ("设备清单在抽屉里", "抽屉", "english"),
            ("广西和桂林", "桂林", "english"),
            ("カタカナ入力", "カナ", "english"),
            ("조선 왕조", "조선", "english"),
            ("ฉันชอบกินข้าว", "ข้าว", "english"),
            ("cafe\u0301", "café", "english"),
            ("नई दिल्ली में", "दिल्ली", "hindi"),
            ("العَرَبِيَّة", "العربية", "arabic"),
            ("новые дома", "новый дом", "russian"),
            ("Les élèves", "élève", "french"),
            ("Les élèves", "eleve", "french"),
            ("die Häuser", "Haus", "german"),
            ("set MAX_RETRY_COUNT=3", "retry", "english"),
            ("see http://wiki.example.org/runbook?x=1", "runbook", "english"),
            ("running", "run", "english"),
        ],
    )
    def test_it_lets_a_question_find_its_memory(self, memory, question, language):
        assert set(terms(question, language)) <= set(terms(memory, language))

    @pytest.mark.parametrize(
        ("memory", "question"),
        [("设备清单", "单设"), ("दिल्ली", "दल"), ("1.23", "12.3"), ("カナ", "ナカ"), ("조선", "선조")],
    )
    def test_it_does_not_find_what_only_looks_alike(self, memory, question):
        assert not set(terms(question)) <= set(terms(memory))

    @pytest.mark.parametrize("sign", list("""!"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"""))
    def test_it_reads_any_punctuation_as_a_mere_separator(self, sign):
        for text in (f"{sign}alpha", f"alpha{sign}", f"alpha {sign} beta", f"alpha{sign}beta"):
            assert "alpha" in terms(text)

    @given(any_text, st.sampled_from(["english", "german", "hindi", "russian", "klingon"]))
    def test_its_terms_hold_letters_and_digits_only(self, text, language):
        assert all(term.isalnum() and len(term) <= 200 for term in terms(text, language))

    @given(any_text)
    def test_it_finds_the_same_in_composed_and_decomposed_text(self, text):
        assert terms(unicodedata.normalize("NFD", text)) == terms(unicodedata.normalize("NFC", text))

    @given(any_text)
    def test_it_names_for_each_term_a_word_of_the_text(self, text):
        assert list(term_words(text)) == list(dict.fromkeys(terms(text)))

    def test_it_shows_words_and_not_stems(self):
        words = term_words("Atlas launches on 20.04, see snake_case")
        assert words["atlas"] == "atlas"
        assert words["launch"] == "launches"
        assert words["20d04"] == "20.04"
        assert words["snakecas"] == "snake_case"

    def test_it_leaves_stop_words_out_of_content_terms_but_keeps_negations(self):
        assert content_terms("This is not being served to you") == ["not", "serv"]
        assert not STOP_WORDS & {"not", "no", "never", "may"}

    def test_it_cuts_endless_words_into_pieces(self):
        assert [len(term) for term in terms("x" * 150)] == [64, 64, 22]

    def test_it_stems_rightly_from_many_threads(self):
        words = [f"walking{letter}s" for letter in "abcdefghijklmnop"]
        expected = [terms(word) for word in words]
        answers: list[list[list[str]]] = []
        threads = [
            threading.Thread(target=lambda: answers.append([terms(w + " ") for w in words])) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [expected] * 4


# By language: what finds each other, then what a text says no with.
LANGUAGES = {
    "german": ("Häuser Haus, Verträge Vertrag, Haeuser Häuser, Mueller Müller, Straße STRASSE, Schlüsseln Schluessel", "nicht"),
    "french": ("élèves eleve, chevaux cheval, réunions REUNION, clés clé, cœurs coeur", "pas"),
    "spanish": ("reuniones reunión, reuniones reunion, llaves llave, canciones cancion, cafés cafe, niños nino", "no"),
    "italian": ("riunioni riunione, città citta, uffici ufficio, caffè caffe", "non"),
    "portuguese": ("reuniões reunião, reuniões reuniao, reunioes reunião, organizações organizacao, chaves chave", "não"),
    "dutch": ("vergaderingen vergadering, sleutels sleutel, huizen huis, coördinatie coordinatie", "niet"),
    "swedish": ("nycklarna nycklar, bilarna bil, möten mote, mötet möte", "inte"),
    "danish": ("nøgler nøgle, møder møde, bilerne bil, møder moder", "ikke"),
    "norwegian": ("møtene møte, bilene bil, hytter hytte, møtene mote", "ikke"),
    "finnish": ("taloissa talo, autolla auto, kirjat kirja, päivät paiva", "ei"),
    "hungarian": ("kulcsok kulcs, házak ház, megbeszélések megbeszeles, kulcsokkal kulcs", "nem"),
    "romanian": ("ședințele ședință, şedinţele ședinta, orașele oraș, cărți carte", "nu"),
    "turkish": ("anahtarlar anahtar, toplantılar toplantı, toplantilar toplantı, ISPARTA ısparta, İZMİR izmir", "değil"),
    "russian": ("ключи ключ, ёлки елка, встречи встреча, решения решение, ящике ЯЩИК", "не"),
    "arabic": ("المفاتيح مفاتيح, الاجتماعات اجتماع, أحمد احمد, مُحَمَّد محمد, محمـــد محمد, على علي", "ليس"),
    "greek": ("κλειδιά κλειδί, ΣΥΡΤΑΡΙΑ συρτάρι, δρόμος ΔΡΟΜΟΣ, δρόμους δρόμος, συναντήσεις συνάντηση", "δεν"),
    "hindi": ("चाबियाँ चाबी, बैठकें बैठक, किताबें किताब, ज़मीन जमीन", "नहीं"),
    "english": ("הַמַּפְתֵּחַ המפתח, khóa khoa, đường duong, أحمد احمد, محمـــد محمد, naïve naive, Straße strasse, Ёлка елка", "not"),
}  # fmt: skip


class TestLanguages:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_an_inflected_or_bare_form_finds_a_word(self, language):
        for pair in LANGUAGES[language][0].split(", "):
            found, asked = pair.split()
            assert set(terms(asked, language)) <= set(terms(found, language)), pair

    @pytest.mark.parametrize("language", NEGATIONS)
    def test_a_negation_is_never_dropped(self, language):
        assert LANGUAGES[language][1] in NEGATIONS[language].split()
        for word in NEGATIONS[language].split():
            assert content_terms(word, language) == terms(word, language) != [], word

    @pytest.mark.parametrize("language", STOP_WORDS_OF)
    def test_its_small_words_carry_no_meaning(self, language):
        small = STOP_WORDS_OF[language].split()
        kept = [word for word in small if content_terms(word, language)]
        assert len(kept) <= 0.06 * len(small), kept  # those whose stem is that of a word that is meant
        assert len(set(small)) == len(small)

    def test_each_list_is_for_a_language_whose_stems_are_known(self):
        assert set(STOP_WORDS_OF) <= set(snowballstemmer.algorithms())
        assert set(STOP_WORDS_OF) == set(NEGATIONS)

    def test_the_stop_words_of_one_language_mean_something_in_another(self):
        assert content_terms("die Katze", "english") == ["die", "katz"]
        assert content_terms("die Katze", "german") == ["katz"]
        assert content_terms("on yıl", "turkish")[0] == "on"

    def test_english_small_words_are_dropped_everywhere_and_are_what_they_were(self):
        assert content_terms("the keys with this", "german") == terms("keys", "german")
        assert len(STOP_WORDS) == 123

    def test_two_texts_are_compared_without_the_stop_words_of_their_language(self):
        first, second = (terms(text, "german") for text in ("der Schlüssel", "ein Schlüssel"))
        assert hash_terms(first, "german") == hash_terms(second, "german")


class TestJoinGrams:
    @pytest.mark.parametrize(
        ("text", "runs"),
        [
            ("设备清单在抽屉里", ["设备清单在抽屉里"]),
            ("NAS設定を見る", ["nas", "設定を見る"]),
            ("회의는 월요일", ["회의는", "월요일"]),
            ("plain words only", ["plain", "words", "only"]),
            ("", []),
        ],
    )
    def test_all_grams_of_a_text_give_its_runs(self, text, runs):
        assert join_grams(term_words(text).values()) == runs

    def test_a_gap_parts_two_runs(self):
        assert join_grams(["设", "设备", "备", "抽", "抽屉", "屉"]) == ["设备", "抽屉"]
        assert join_grams(["设", "备", "oak", "oak"]) == ["设", "备", "oak"]

    @given(any_text)
    def test_it_says_nothing_that_the_text_does_not(self, text):
        words = list(term_words(text).values())
        assert set("".join(join_grams(words))) == set("".join(words))


class TestHashes:
    @given(st.frozensets(st.integers(min_value=0, max_value=2**32 - 1)))
    def test_it_unpacks_what_it_packed(self, hashes):
        assert unpack_hashes(pack_hashes(hashes)) == hashes

    def test_it_packs_sorted_little_endian_numbers(self):
        assert pack_hashes(frozenset({258, 1})) == b"\x01\x00\x00\x00\x02\x01\x00\x00"
        assert sys.byteorder in {"little", "big"}

    def test_it_refuses_half_a_number(self):
        with pytest.raises(ValueError, match="multiple"):
            unpack_hashes(b"\x01\x00\x00")

    def test_it_gives_a_term_the_same_number_in_every_process(self):
        assert term_hash("limit") == 2_140_596_320

    def test_it_compares_texts_without_their_stop_words(self):
        assert hash_terms(terms("the limit")) == hash_terms(terms("a limit of this"))


class TestSentences:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
            ("Dr. Smith met J. Doe. They talked.", ["Dr. Smith met J. Doe.", "They talked."]),
            ("Use e.g. pytest, i.e. the runner. Done.", ["Use e.g. pytest, i.e. the runner.", "Done."]),
            ("It costs 3.50 today. Ok.", ["It costs 3.50 today.", "Ok."]),
            (
                "See https://a.example.org/x.html?y=1. Then go.",
                ["See https://a.example.org/x.html?y=1.", "Then go."],
            ),
            (
                "See fig. 3 for it. No. 5 lives! No. Really.",
                ["See fig. 3 for it.", "No. 5 lives!", "No.", "Really."],
            ),
            ("设备在这里。钥匙在哪？好！", ["设备在这里。", "钥匙在哪？", "好！"]),
            ("「はい。」と言った。", ["「はい。」", "と言った。"]),
            ("- first item\n- second item", ["- first item", "- second item"]),
            ("1. Stop it. \n2. Start it.", ["1. Stop it.", "2. Start it."]),
            ('He said "Go." Then left.', ['He said "Go."', "Then left."]),
            ("Wait... what? Yes…", ["Wait...", "what?", "Yes…"]),
            ("यह है। वह है।", ["यह है।", "वह है।"]),
            ("We meet at 5 p.m. Bring etc. Ok", ["We meet at 5 p.m.", "Bring etc.", "Ok"]),
            ("", []),
            (" \n ", []),
        ],
    )
    def test_it_finds_where_a_sentence_ends(self, text, expected):
        assert sentences(text) == expected

    @given(any_text)
    def test_it_loses_white_space_only(self, text):
        assert "".join("".join(sentences(text)).split()) == "".join(text.split())

    def test_it_takes_the_first_sentence_as_head(self):
        assert head_sentence("The  port is\t8766. It was 80.") == "The port is 8766."

    def test_it_cuts_a_long_head_at_a_word(self):
        assert head_sentence("alpha beta gamma delta", 13) == "alpha beta…"

    def test_it_counts_wide_characters_double(self):
        assert head_sentence("设备清单在抽屉里", 9) == "设备清单…"

    @given(any_text, st.integers(min_value=0, max_value=40))
    def test_its_head_stays_within_the_limit(self, text, limit):
        head = head_sentence(text, limit)
        assert sum(2 if unicodedata.east_asian_width(c) in {"W", "F"} else 1 for c in head) <= limit
        assert "\n" not in head


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 1_000_000,
        "a" + "\u0316\u0301" * 500_000,
        "." * 1_000_000,
        "a." * 500_000,
        "." + "'" * 1_000_000,
        "设" * 1_000_000,
    ],
    ids=["word", "marks", "stops", "dotted", "quotes", "han"],
)
def test_it_answers_hostile_text_in_linear_time(hostile):
    normalise(hostile)
    head_sentence(hostile)
    assert len(terms(hostile)) <= 2 * len(hostile)
    assert sentences(hostile)
