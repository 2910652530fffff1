"""The estimate against real tokenizers: close on prose, and never far under in any script."""

import base64
import random
import time

import pytest
import quicktok
from hypothesis import given
from hypothesis import strategies as st

from contextpack.core.profiles import PROFILES
from contextpack.core.tokens import TokenFamily, estimate_tokens, family_of

ORACLES = {
    TokenFamily.CL100K: quicktok.get_encoding("cl100k_base"),
    TokenFamily.O200K: quicktok.get_encoding("o200k_base"),
}

ENGLISH = {
    "minutes": (
        "We moved the weekly review to Thursday because half of the team is travelling on Mondays. Priya will "
        "send the agenda a day earlier, and everyone adds open questions before lunch. The budget discussion "
        "stays where it is, at the end of the month, since finance cannot join before then."
    ),
    "letter": (
        "It was lovely to see you after such a long time! The garden has changed a lot since your last visit: "
        "we planted two apple trees near the fence, and the old shed is finally gone. My mother asks whether "
        "you still have her recipe for plum cake. If so, could you bring it along when you come in October?"
    ),
    "engineering": (
        "The retry queue drops a message after five failed attempts and writes it to a separate table, where "
        "an operator can inspect it. Do not raise the limit without asking the platform group first: the last "
        "time somebody did, a single broken webhook filled the disk within an hour and took the database down."
    ),
    "chat": (
        "Ana: I'm so happy the interview went well, thanks for asking! They want me to start in March. "
        "Ben: That's amazing, congratulations! Are you going to keep the apartment, or will you move closer to "
        "the office? Ana: I haven't decided yet, but I'd love to live by the river."
    ),
}

SCRIPTS = {
    "chinese": "昨天下午我和母亲去菜市场买了鱼、茄子和豆腐，晚上她教我做红烧茄子。下周三是她的生日，我打算订一个蛋糕，再给她买一条围巾。",
    "chinese at work": "团队决定从下个季度开始使用新的数据库，因为旧系统在高峰期经常超时。李娜负责迁移计划，王强负责测试。",
    "traditional chinese": "昨天下午我和媽媽去菜市場買了魚、茄子和豆腐，晚上她教我做紅燒茄子。她說醬油要在最後放，不然顏色會太深。",
    "japanese": "昨日、母と一緒にスーパーへ買い物に行き、夜は茄子の味噌炒めの作り方を教わりました。来週の水曜日は母の誕生日です。",
    "korean": "어제 오후에 어머니와 함께 시장에 가서 생선과 두부를 샀고, 저녁에는 가지 볶음을 만드는 법을 배웠다.",
    "thai": "เมื่อวานนี้ฉันไปตลาดกับแม่ ซื้อปลาและมะเขือยาว ตอนเย็นแม่สอนฉันทำอาหาร วันเกิดของแม่คือวันพุธหน้า",
    "arabic": "ذهبت أمس مع والدتي إلى السوق واشترينا السمك والباذنجان، وفي المساء علمتني كيف أطبخه. عيد ميلادها يوم الأربعاء القادم.",
    "hebrew": "אתמול הלכתי עם אמא לשוק וקנינו דגים וחצילים, ובערב היא לימדה אותי לבשל אותם. יום ההולדת שלה ביום רביעי הבא.",
    "greek": "Χθες πήγα με τη μητέρα μου στην αγορά και αγοράσαμε ψάρια και μελιτζάνες, και το βράδυ μου έμαθε να τα μαγειρεύω.",
    "russian": "Вчера днём мы с мамой ходили на рынок, купили рыбу и баклажаны, а вечером она научила меня их готовить.",
    "ukrainian": "Вчора вдень ми з мамою ходили на ринок, купили рибу й баклажани, а ввечері вона навчила мене їх готувати.",
    "hindi": "कल मैं माँ के साथ बाज़ार गया, हमने मछली और बैंगन खरीदे, और शाम को उन्होंने मुझे पकाना सिखाया।",
    "bengali": "গতকাল আমি মায়ের সঙ্গে বাজারে গিয়েছিলাম, আমরা মাছ ও বেগুন কিনেছি, সন্ধ্যায় তিনি আমাকে রান্না শিখিয়েছেন।",
    "german": "Gestern war ich mit meiner Mutter auf dem Markt, wir haben Fisch und Auberginen gekauft, und abends hat sie mir gezeigt, wie man sie zubereitet.",
    "french": "Hier, je suis allé au marché avec ma mère, nous avons acheté du poisson et des aubergines, et le soir elle m'a appris à les cuisiner.",
    "polish": "Wczoraj po południu poszedłem z mamą na targ, kupiliśmy ryby i bakłażany, a wieczorem nauczyła mnie je gotować.",
    "czech": "Včera odpoledne jsem šel s mámou na trh, koupili jsme ryby a lilky a večer mě naučila, jak je vařit.",
    "italian": "Ieri pomeriggio sono andato al mercato con mia madre, abbiamo comprato pesce e melanzane, e la sera mi ha insegnato a cucinarle.",
    "finnish": "Eilen iltapäivällä kävin äitini kanssa torilla, ostimme kalaa ja munakoisoja, ja illalla hän opetti minua.",
    "turkish": "Dün öğleden sonra annemle pazara gittik, balık ve patlıcan aldık, akşam da bana nasıl pişirileceğini öğretti.",
    "indonesian": "Kemarin sore saya pergi ke pasar bersama ibu, kami membeli ikan dan terong, lalu malamnya ibu mengajari saya memasaknya.",
    "vietnamese": "Chiều hôm qua tôi đi chợ với mẹ, chúng tôi mua cá và cà tím, buổi tối mẹ dạy tôi nấu ăn.",
    "emoji": "Great job everyone! 🎉🎉 See you tomorrow 😀 and bring the dog 🐶❤️ 👩‍💻🚀🔥🙏",
    "code": (
        "def fetch(url: str, *, retries: int = 3) -> bytes:\n    for attempt in range(retries):\n        try:\n"
        "            return urlopen(url, timeout=10).read()\n        except URLError as error:\n"
        '            log.warning("attempt %d of %d failed: %s", attempt, retries, error)\n'
    ),
    "json": (
        '{"ref":"mem_a8f3k20dk3lz","content":"The site moved.","relevance":0.8312,"why":{"retrievers":["fts"],'
        '"matched_terms":["site"],"fused_rank":3},"occurred_at":"2026-07-20T08:08:08+00:00","entities":["Atlas"]},'
    ),
    "references": "[mem_a8f3k20dk3lz] [mem_9d8s7f6g5h4j] cortex-capture://cap_cfd9a432738d https://example.org/a/b?c=1#d",
    "dates and numbers": "2026-01-05T10:30:00+09:00, 1,234,567.89 €; 17:05–18:10; 192.168.0.1; 4711 0815; v2.13.4-rc1",
    "shouting": "PLEASE DO NOT RESTART THE SERVER BEFORE THE BACKUP HAS FINISHED, THANK YOU VERY MUCH",
}


def _random_texts() -> dict[str, str]:
    source = random.Random(7)
    return {
        "hex": " ".join(source.randbytes(32).hex() for _ in range(20)),
        "base64": " ".join(base64.b64encode(source.randbytes(60)).decode() for _ in range(20)),
        "digits": " ".join(str(source.randrange(10 ** source.randrange(1, 20))) for _ in range(50)),
    }


@pytest.mark.parametrize("family", ORACLES)
@pytest.mark.parametrize("text", ENGLISH.values(), ids=ENGLISH)
def test_english_prose_is_within_a_tenth_of_the_tokenizer(text, family):
    real = len(ORACLES[family].encode(text))
    assert 0.9 * real <= estimate_tokens(text, family) <= 1.1 * real


@pytest.mark.parametrize("family", ORACLES)
@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_no_script_is_under_the_tokenizer_by_more_than_a_tenth(text, family):
    assert estimate_tokens(text, family) >= 0.9 * len(ORACLES[family].encode(text))


@pytest.mark.parametrize("family", ORACLES)
@pytest.mark.parametrize(("name", "text"), _random_texts().items(), ids=_random_texts())
def test_machine_text_is_not_under_the_tokenizer_by_more_than_a_tenth(name, text, family):
    assert estimate_tokens(text, family) >= 0.9 * len(ORACLES[family].encode(text))


@pytest.mark.parametrize("family", [TokenFamily.CLAUDE_3, TokenFamily.CLAUDE_4_8])
@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_a_claude_family_counts_no_less_than_the_gpt_tokenizer(text, family):
    assert estimate_tokens(text, family) >= 0.9 * len(ORACLES[TokenFamily.CL100K].encode(text))


@pytest.mark.parametrize("name", PROFILES)
def test_english_prose_comes_out_near_the_characters_per_token_of_the_profile(name):
    profile = PROFILES[name]
    text = ENGLISH["chat"]
    chars_per_token = len(text) / estimate_tokens(text, family_of(profile, None))
    assert chars_per_token == pytest.approx(profile.chars_per_token, rel=0.15)


@pytest.mark.parametrize(
    ("name", "model", "family"),
    [
        ("generic", None, TokenFamily.CL100K),
        ("generic", "some-local-model", TokenFamily.CL100K),
        ("claude", "claude", TokenFamily.CLAUDE_3),
        ("claude", "claude-3-5-sonnet-20241022", TokenFamily.CLAUDE_3),
        ("claude", "claude-opus-4-20250514", TokenFamily.CLAUDE_3),
        ("claude", "claude-opus-4.6", TokenFamily.CLAUDE_3),
        ("claude", "claude-opus-4-8", TokenFamily.CLAUDE_4_8),
        ("claude", "Claude Sonnet 5", TokenFamily.CLAUDE_4_8),
        ("gpt", "gpt", TokenFamily.CL100K),
        ("gpt", "gpt-4-turbo", TokenFamily.CL100K),
        ("gpt", "chatgpt", TokenFamily.CL100K),
        ("gpt", "gpt-4o", TokenFamily.O200K),
        ("gpt", "gpt-4.1-mini", TokenFamily.O200K),
        ("gpt", "gpt-5", TokenFamily.O200K),
        ("gpt", "o3", TokenFamily.O200K),
        ("cursor", "cursor", TokenFamily.CLAUDE_3),
        ("cursor", "gpt-4o cursor", TokenFamily.O200K),
    ],
)
def test_the_model_names_its_tokenizer(name, model, family):
    assert family_of(PROFILES[name], model) is family


def test_only_the_empty_text_is_free():
    assert estimate_tokens("") == 0
    assert all(estimate_tokens(text) > 0 for text in ("a", "1", ".", "é", "漢", "😀", "\ud83d"))


@given(st.text(), st.text(), st.sampled_from(TokenFamily))
def test_texts_put_together_cost_no_less_than_the_dearer_one_nearly(one, other, family):
    together = estimate_tokens(f"{one}\n{other}", family)
    assert together >= max(estimate_tokens(one, family), estimate_tokens(other, family)) - 2


@pytest.mark.parametrize(
    "text", ["a", "aB", "a1", " ", ".", "漢", "é ก", "😀", "\u0301", "\x00", "\ud800"], ids=ascii
)
def test_a_hostile_megabyte_takes_linear_time(text):
    start = time.process_time()
    assert estimate_tokens(text * (1_000_000 // len(text))) >= 0
    assert time.process_time() - start < 5  # a quadratic pass would take minutes
