"""What is written in any script is found by its words, whatever their form and wherever they stand (I1 to I6)."""

import unicodedata

import pytest

from memories.models import Memory
from memories.search import fulltext
from tests.clients import Api, api_of
from tests.factories import make_vault
from tests.wire.asking import ask, contents, expand, get, ok, query, refs, smp, use

pytestmark = pytest.mark.django_db

FILLERS = ("The mill stands still in August", "今天天气很好", "Bicycles belong into the cellar")


@pytest.fixture
def api():
    api = api_of()
    for text in FILLERS:
        api.remember(text)
    return api


def finds(api: Api, ref: str, *queries: str) -> None:
    for text in queries:
        assert refs(query(api, find=text))[:1] == [ref], text
        assert refs(smp(api, text, model="gpt"))[:1] == [ref], text
        assert use(api, "search", query=text)["results"][0]["id"] == ref, text


class TestUnspacedScripts:
    """I1, I2, I3: a run of such a script is many words, and a word may be one character."""

    @pytest.mark.parametrize(
        ("stored", "asked"),
        [
            ("设备清单在抽屉里", ["设备", "清单", "抽屉", "设备清单", "清单 抽屉", "抽屉里的清单"]),
            ("花名册在广西", ["花名", "广西", "花", "广西 OR 桂林"]),
            ("桂林的米粉最好吃", ["桂林", "米粉", "广西 OR 桂林"]),
            ("カナの鍵は引き出しにある", ["カナ", "鍵", "引き出し"]),
            ("조선의 지도는 금고에 있다", ["조선", "지도", "금고"]),
            ("NAS設定は棚のノートにある", ["NAS設定", "NAS", "設定", "nas 設定", "ノート"]),
            ("กุญแจอยู่ในลิ้นชักห้องครัว", ["กุญแจ", "ลิ้นชัก", "ห้องครัว"]),
            ("サーバーのIPは192.168.0.7です", ["サーバー", "IP", "192.168.0.7"]),
            ("ｶﾀｶﾅの名前はデータ", ["データ", "カタカナ"]),
        ],
    )
    def test_its_words_are_found(self, api, stored, asked):
        finds(api, api.remember(stored)["ref"], *asked)

    def test_what_is_not_there_is_not_found(self, api):
        ref = api.remember("设备清单在抽屉里")["ref"]
        assert ref not in refs(smp(api, "汽车保险"))
        assert smp(api, "汽车保险")["coverage"]["status"] in {"empty", "weak"}

    def test_a_match_names_runs_and_not_their_pieces(self, api):
        api.remember("设备清单在抽屉里")
        item = smp(api, "设备清单在哪里?")["items"][0]
        assert "设备清单在" in item["why"]["matched_terms"]


class TestForms:
    """I4: composed and decomposed, wide and narrow, upper and lower, accented and bare."""

    @pytest.mark.parametrize("stored_as", ["NFC", "NFD", "NFKC", "NFKD"])
    @pytest.mark.parametrize("asked_as", ["NFC", "NFD"])
    def test_every_normal_form_finds_every_other(self, api, stored_as, asked_as):
        ref = api.remember(unicodedata.normalize(stored_as, "Das Café Zoë liegt in Łódź"))["ref"]
        for text in ("Café", "café Zoë", "CAFÉ ZOË", "Łódź", "cafe zoe"):
            finds(api, ref, unicodedata.normalize(asked_as, text))

    @pytest.mark.parametrize(
        ("stored", "asked"),
        [
            ("The room is １２３", "123"),
            ("The room is 123", "１２３"),
            ("Der Weg heißt Hauptstraße", "HAUPTSTRASSE"),
            ("Ёлка стоит в зале", "елка"),
            ("Το κλειδί είναι στο ΣΥΡΤΆΡΙ", "συρταρι"),
            ("The ﬁle is in the oﬃce", "file office"),
            ("İstanbul is far", "istanbul"),
        ],
    )
    def test_width_case_and_accents_make_no_difference(self, api, stored, asked):
        finds(api, api.remember(stored)["ref"], asked)

    def test_two_forms_of_one_text_are_one_memory(self, api):
        first = api.remember(unicodedata.normalize("NFC", "Café Zoë"))
        again = api.remember(unicodedata.normalize("NFD", "Café Zoë"))
        assert (again["ref"], again["occurrences"]) == (first["ref"], 2)

    @pytest.mark.parametrize(
        ("stored", "asked"),
        [
            ("ключ лежит в ящике", "КЛЮЧ ящике"),
            ("المفتاح في الدرج", "المفتاح الدرج"),
            ("המפתח במגירה", "המפתח"),
            ("चाबी दराज में है", "चाबी"),
            ("Chìa khóa ở trong ngăn kéo", "ngan keo"),
        ],
    )
    def test_spaced_scripts_are_found_by_word(self, api, stored, asked):
        finds(api, api.remember(stored)["ref"], *asked.split())


# By language: what is remembered first, a question in other forms of its words, and one about something else.
SPOKEN = {
    "german": ("Die Schlüssel der Häuser liegen in der Schublade", "Wo ist der Schluessel für das Haus?", "Wann ist das mit dem Zahnarzt?"),
    "french": ("Les clés des élèves sont dans le tiroir", "Où est la cle de l'eleve ?", "Quand est-ce que je vais chez le dentiste ?"),
    "spanish": ("Las llaves de las habitaciones están en los cajones", "¿Dónde está la llave de la habitacion?", "¿Cuándo es lo del dentista?"),
    "italian": ("Le finestre delle città restano aperte", "Perché è aperta la finestra in citta?", "Quando è che vado dal dentista?"),
    "portuguese": ("As reuniões sobre as organizações são na sala azul", "Onde é a reuniao da organização?", "Quando é que eu vou ao dentista?"),
    "dutch": ("De sleutels van de huizen liggen in de kast", "Waar is de sleutel van het huis?", "Wanneer is dat met de tandarts?"),
    "russian": ("Ключи от новых домов лежат в ящиках", "Где ключ от нового дома?", "Когда это было у стоматолога?"),
    "swedish": ("Bilarna står vid mötena i Uppsala", "Var är bilen och mötet?", "När är det hos tandläkaren?"),
    "danish": ("Nøglerne til bilerne hænger i gangen", "Hvor er nøglen til bilen?", "Hvornår er det hos tandlægen?"),
    "norwegian": ("Møtene om hyttene er på Hamar", "Hvor er møtet om hytta?", "Når er det hos tannlegen?"),
    "finnish": ("Taloissa on kirjat pöydillä", "Missä on talo ja kirja?", "Milloin se on sitten hammaslääkärin kanssa?"),
    "hungarian": ("A házak kulcsai a fiókokban vannak", "Hol van a ház kulcsa?", "Mikor van az a fogorvossal?"),
    "romanian": ("Cărțile despre orașe sunt în dulap", "Unde este o carte despre oraș?", "Când este cea cu stomatologul?"),
    "turkish": ("Anahtarlar ve kitaplar çekmecede", "Anahtar ile kitap nerede?", "Dişçi ile olan ne zaman?"),
    "arabic": ("المفاتيح والكتب في أدراج المَكتَب", "أين المفتاح في المكتب", "متى كان ذلك مع الطبيب"),
    "greek": ("Τα κλειδιά των δρόμων είναι στα συρτάρια", "Πού είναι το ΚΛΕΙΔΙ στο συρτάρι;", "Πότε είναι αυτό με τον οδοντίατρο;"),
    "hindi": ("चाबियाँ और किताबें मेज़ पर हैं", "चाबी और किताब कहाँ है?", "वह डॉक्टर के साथ कब था?"),
}  # fmt: skip
# Of the same small words, and of nothing that is asked for.
BESIDE = {
    "german": "Das war mit dem Garten und der Nachbarin", "french": "C'est pour que je puisse arroser le jardin",
    "spanish": "Es lo que está en el jardín con la vecina", "italian": "È che sono dal vicino con il cane",
    "portuguese": "É que eu estou no jardim com a vizinha", "dutch": "Dat is met de tuin en van de buren",
    "russian": "Это было у соседа с собакой", "swedish": "Det är hos grannen med en hund",
    "danish": "Det er hos naboen med en hund", "norwegian": "Det er hos naboen med en hund",
    "finnish": "Se on sitten naapurin kanssa", "hungarian": "Az van a szomszéddal és a kutyával",
    "romanian": "Este cea cu vecinul și un câine", "turkish": "O komşu ile bir köpek için",
    "arabic": "كان ذلك مع الجار في الحديقة", "greek": "Είναι αυτό με τον γείτονα και τον σκύλο",
    "hindi": "वह पड़ोसी के साथ बगीचे में था",
}  # fmt: skip


def worded(api: Api, task: str) -> list[str]:
    """Return the refs that the words of a task find; vectors know no stop words."""
    hits = fulltext.lookup(task, vault_id=api.vault.pk, language=api.vault.language)
    return [Memory.objects.get(pk=hit.memory_id).ref for hit in hits]


class TestSpokenLanguages:
    """A vault speaks a language: its inflections find each other, and its small words find nothing."""

    @pytest.mark.parametrize("language", SPOKEN)
    def test_other_forms_of_its_words_find_a_memory(self, language):
        api = api_of(make_vault(language=language))
        stored, asked, _ = SPOKEN[language]
        api.remember(BESIDE[language])
        ref = api.remember(stored)["ref"]
        assert worded(api, asked) == [ref]
        body = smp(api, asked, model="gpt")
        assert refs(body)[0] == ref
        assert body["coverage"]["status"] == "complete"

    @pytest.mark.parametrize("language", SPOKEN)
    def test_its_small_words_find_nothing(self, language):
        api = api_of(make_vault(language=language))
        api.remember(BESIDE[language])
        api.remember(SPOKEN[language][0])
        other = SPOKEN[language][2]
        assert worded(api, other) == []
        found = smp(api, other, model="gpt")["items"]
        assert not [item for item in found if "fts" in item["why"]["retrievers"]]


class TestSurrogates:
    """I5: half a character is no text, wherever it stands, and spoils nothing for later."""

    def test_it_is_refused_and_later_reads_are_fine(self, api):
        half = "\ud83d"
        for response in (
            api.post("memories", {"content": f"The key {half}"}),
            api.post("memories", {"content": "The key", "tags": [half]}),
            ask(api, half),
            ask(api, "key", session_id=half),
            ask(api, "key", entities=[half]),
            api.post("query", {"find": half}),
        ):
            assert response.status_code == 400
        assert smp(api, "mill")["items"][0]["content"] == FILLERS[0]
        assert get(api, "memories", q="mill").status_code == 200

    def test_whole_characters_beyond_the_first_plane_are_text(self, api):
        ref = api.remember("The 🗝️ is under the 𠮷野家 mat 👨‍👩‍👧")["ref"]
        finds(api, ref, "𠮷野家", "mat 🗝️")
        assert "👨‍👩‍👧" in contents(query(api, find="mat"))[0]


class TestLongTexts:
    """I6: the end of a long text is found like its beginning."""

    @pytest.fixture
    def long(self, api):
        body = " ".join(f"Paragraph {number} tells of the harbour and its ships." for number in range(1_200))
        return api.remember(f"{body} The marker is zyzzyva at the very end.")

    def test_a_word_at_its_end_is_found(self, api, long):
        assert len(long["content"]) > 60_000
        finds(api, long["ref"], "zyzzyva", "marker zyzzyva")

    def test_expand_reaches_it(self, api, long):
        assert ok(expand(api, long["ref"]))["document"]["content"].endswith("zyzzyva at the very end.")

    def test_one_without_spaces_is_found_to_its_end(self, api):
        ref = api.remember("港口的船" * 5_000 + "终点标记是斑马")["ref"]
        finds(api, ref, "斑马", "终点标记")
