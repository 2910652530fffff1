from itertools import permutations
from time import process_time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contextpack.core.folding import fold_claims
from contextpack.core.restating import read_statement, restates
from memories.core.text import hash_terms, terms
from tests.core.packs import make_candidate

APART = [
    # Signs, operators, units, figures.
    ("The clock offset is +5 minutes in the lab", "The clock offset is -5 minutes in the lab"),
    ("The freezer in the lab is set to -20 C", "The freezer in the lab is set to 20 C"),
    ("The balance of the account is −20 euro", "The balance of the account is 20 euro"),
    ("The check passes only when x >= 5", "The check passes only when x <= 5"),
    ("The loop ends as soon as a != b", "The loop ends as soon as a == b"),
    ("The fee of the provider is 5% per order", "The fee of the provider is 5 per order"),
    ("The fee of the provider is $5 per order", "The fee of the provider is €5 per order"),
    ("The client needs version 1.10 of the library", "The client needs version 1.1 of the library"),
    ("The build comes from commit 12a4 of the branch", "The build comes from commit 12b4 of the branch"),
    ("The budget of the team is €5k a month", "The budget of the team is €5m a month"),
    ("The daily dose of the drug is 5 mg", "The daily dose of the drug is 5 µg"),
    ("The weekly sync starts at 10:30 in Rome", "The weekly sync starts at 10:31 in Rome"),
    ("The backup job runs once a day", "The backup job runs twice a day"),
    ("The area of the room is 20 m²", "The area of the room is 20 m2"),
    ("The rate limit is 60 per minute", "The rate limit is 600 per minute"),
    ("Two reviewers look at every change", "Three reviewers look at every change"),
    ("The ratio of the mix is 1:2", "The ratio of the mix is 2:1"),
    ("The flag is written --force", "The flag is written -force"),
    ("The answer is x!", "The answer is x"),
    # Names, single letters, codes, addresses.
    ("Team A owns the billing service", "Team B owns the billing service"),
    ("Team A owns the billing service", "Team owns the billing service"),
    ("The board approved Plan A for the move", "The board approved Plan C for the move"),
    ("The parser is written in C", "The parser is written in C++"),
    ("The parser is written in C#", "The parser is written in C++"),
    ("Write invoices to ana@example.org", "Write invoices to eva@example.org"),
    ("The host reads /etc/app/a.conf at boot", "The host reads /etc/app/b.conf at boot"),
    ("The host reads /etc/App/a.conf at boot", "The host reads /etc/app/a.conf at boot"),
    ("The docs are at https://example.org/a", "The docs are at https://example.org/b"),
    ("The digest is 9f86d081884c7d65 today", "The digest is 9f86d081884c7d66 today"),
    ("The keys are in vault prod", "The keys are in vault dev"),
    ("Mr Silva signs the contract", "Ms Silva signs the contract"),
    ("The field is called userName", "The field is called username"),
    ("The switch is called user_name", "The switch is called user-name"),
    ("William keeps the books of the club", "Williams keeps the books of the club"),
    ("Ana ships parcels to US", "Ana ships parcels to us"),
    ("Visit the museum of The Hague", "Visit the museum of Hague"),
    # Emoji, quotations, other scripts.
    ("The nightly build is ✅", "The nightly build is ❌"),
    ("The nightly build is done ✅", "The nightly build is done"),
    ('The motto is "please be kind"', 'The motto is "be kind"'),
    ("The motto is “move fast”", "The motto is “move faster”"),
    ("Type `make all` in the root", "Type `make` in the root"),
    ("会议在下午三点开始", "会议在下午四点开始"),
    ("设备清单在左边的抽屉里", "设备清单在右边的抽屉里"),
    ("ประชุมเริ่มตอนสามโมง", "ประชุมเริ่มตอนสี่โมง"),
    ("يبدأ الاجتماع قبل الظهر", "يبدأ الاجتماع بعد الظهر"),
    # Words that turn or add a meaning.
    ("Rui refuses the new contract", "Rui agrees the new contract"),
    ("Ana is allergic to nuts and milk", "Ana is allergic to nuts"),
    ("Backups of the ledger are encrypted", "Backups of the ledger are unencrypted"),
    ("The cache of the page is enabled", "The cache of the page is disabled"),
    ("Call Ana before the board meets", "Call Ana after the board meets"),
    ("The switch is on the left of the door", "The switch is on the right of the door"),
    ("Ana has few friends in Porto", "Ana has a few friends in Porto"),
    ("Ana was the head of the team", "Ana is the head of the team"),
    ("Ana managed the team in Porto", "Ana manages the team in Porto"),
    ("He owns the billing service", "She owns the billing service"),
    ("My desk is by the window", "Your desk is by the window"),
    ("Deploy on Friday", "Do not deploy on Friday"),
    ("No, deploy on Friday", "No deploy on Friday"),
    ("The job may run at night", "The job must run at night"),
    ("All tests pass on main", "Most tests pass on main"),
    ("The report is sent on Friday", "The report is sent every Friday"),
    ("The staging database is restored every night", "The staging database is refreshed every night"),
    ("We restored the database from backup", "The database is restored from backup"),
    ("Ana reads the news every day", "Ana reads the new every day"),
    ("Is the database restored from backup?", "The database is restored from backup."),
    ("The gate opens at noon again", "The gate opens at noon"),
    # Order.
    ("Rui prefers tea over coffee", "Rui prefers coffee over tea"),
    ("Ana reports to Bob", "Bob reports to Ana"),
    ("Ana pays Bob on Friday", "On Friday Bob pays Ana"),
    ("The train goes from Rome to Paris", "The train goes from Paris to Rome"),
    ("Cats are animals", "Animals are cats"),
    ("Ana is taller than Bob", "Bob is taller than Ana"),
    ("Ana works in Rome. Bob works in Paris.", "Ana works in Paris. Bob works in Rome."),
    ("Ana talks not to Bob with Carol", "Ana talks not with Carol to Bob"),
    ("Ana forgot to ask to pay", "Ana forgot to pay to ask"),
    ("The shop opens only on Monday in Rome", "The shop opens only in Rome on Monday"),
    ("Subtract a from b", "Subtract b from a"),
    # Lead-ins and remarks that say something, or stand around something else.
    ("So the rate limit is 60 per minute", "So the rate limit is 600 per minute"),
    ("As I said, the rate limit is 60 per minute", "The rate limit is 600 per minute"),
    ("Yes, the audit is on 3 March", "The audit is on 5 March"),
    ("Yes, Ana signs the contract", "Bo signs the contract"),
    ("Yes, the cache is not shared", "The cache is shared"),
    ("No, the cache is shared", "The cache is shared"),
    ("So few people read the ledger", "Few people read the ledger"),
    ("So that the build is quick", "The build is quick"),
    ("So far the limit is 60", "The limit is 60"),
    ("Restart the job (three times now)", "Restart the job"),
    ("Ana is late (three times now)", "Ana is late"),
    ("The train is 10 minutes late (three times now)", "The train is 10 minutes late"),
    ("The rate limit is 60 per minute (three times now)", "The rate limit is 3 per minute"),
    ("The rate limit is 60 per minute (three times now)", "The rate limit is not 60 per minute"),
    ("The rate limit is 60 per minute (three tenants)", "The rate limit is 60 per minute"),
    ("The build is broken (again)", "The build is broken"),
    ("The limit is 60, as Ana said", "The limit is 60"),
    ("Wie gesagt, das Limit ist 60", "Das Limit ist 600"),
    ("Ana calls if Bob writes", "Bob writes if Ana calls"),
]
RESTATED = [
    ("Reminder: the site moved to Oslo", "The site moved to Oslo."),
    ("Note that the site moved to Oslo", "The site moved to Oslo"),
    ("Please note that the site moved to Oslo", "The site moved to Oslo"),
    ("Remember that the site moved to Oslo!", "The site moved to Oslo"),
    ("FYI: the site moved to Oslo", "The site moved to Oslo"),
    ("Again: the site moved to Oslo", "The site moved to Oslo"),
    ("The site moved to Oslo, again", "The site moved to Oslo"),
    ("As discussed, the site moved to Oslo", "The site moved to Oslo"),
    ("The site, as mentioned, moved to Oslo", "The site moved to Oslo"),
    ("btw the site moved to Oslo", "The site moved to Oslo"),
    ("By the way, the site moved to Oslo", "The site moved to Oslo"),
    ("Reminder: our site also moved to Oslo", "The site moved to Oslo"),
    ("Just a quick reminder: our site moved to Oslo", "The site moved to Oslo"),
    ("- The site moved to Oslo", "The site moved to Oslo"),
    ("THE SITE MOVED TO OSLO", "The site moved to Oslo"),
    ("The price is currently 5 euro", "The price is 5 euro"),
    ("The price is at the moment 5 euro", "The price is 5 euro"),
    ("Please send invoices to ana@example.org", "Send invoices to ana@example.org"),
    ("The team has a big room", "The team has a large room"),
    ("The team has the large room", "The team has a large room"),
    ("Our team has a large room", "The team has a large room"),
    ("Each change needs two approvals", "Every change needs 2 approvals"),
    ("The limit for each client is 1,000", "The limit for every client is 1,000"),
    ("Ana's desk is by the window", "Ana’s desk is by the window"),
    ("Ana doesn't eat nuts", "Ana does not eat nuts"),
    ("Ana can't eat nuts", "Ana cannot eat nuts"),
    ("It's a large room by the river", "It is a large room by the river"),
    ("The report goes out on Fridays to finance", "The report goes out every Friday to finance"),
    ("The report goes out on Sunday nights", "The report goes out every Sunday night"),
    ("The report goes out on Sunday nights", "On Sunday nights, the report goes out"),
    ("The old report is archived on Friday", "The old reports are archived on Friday"),
    ("Ana prefers a window seat on long flights", "On long flights Ana prefers the window seat"),
    ("The parcel is sent to Ana on Friday", "The parcel is sent on Friday to Ana"),
    ("In Rome the shop is closed at noon", "The shop is closed at noon in Rome"),
    ("We restore the database from backup", "The database is restored from backup"),
    ("We use Postgres for billing", "Postgres is used for billing"),
    ("The database gets restored from backup", "The database is restored from backup"),
    ("The database is being restored from backup", "The database is restored from backup"),
    ("Invite Ana, Bob, and Carol to the review", "Invite Ana, Bob and Carol to the review"),
    ("The review is in the big room (as agreed)", "The review is in the big room (as agreed)."),
    ("Cafe\u0301 Zoë has the best cake", "Café Zoe\u0308 has the best cake"),
    ("费率上限是每分钟60次", "费率上限是每分钟６０次。"),
    ("Das Team trifft sich im großen Raum", "Das Team trifft sich im großen Raum."),
    ("The key is in the drawer; ask Ana", "The key is in the drawer. Ask Ana."),
    ("So the site moved to Oslo", "The site moved to Oslo"),
    ("Yes, the site moved to Oslo", "The site moved to Oslo"),
    ("As I said, the site moved to Oslo", "The site moved to Oslo"),
    ("As we already mentioned: the site moved to Oslo", "The site moved to Oslo"),
    ("Like I said before, the site moved to Oslo", "The site moved to Oslo"),
    ("OK so the site moved to Oslo", "The site moved to Oslo"),
    ("Okay, so the site moved to Oslo", "The site moved to Oslo"),
    ("To be clear, the site moved to Oslo", "The site moved to Oslo"),
    ("Once more: the site moved to Oslo", "The site moved to Oslo"),
    ("The site moved to Oslo, as I said.", "The site moved to Oslo"),
    ("The site moved to Oslo (as we said before)", "The site moved to Oslo"),
    ("The site moved to Oslo — I repeat", "The site moved to Oslo"),
    ("The site moved to Oslo (I said it three times now)", "The site moved to Oslo"),
    ("The rate limit is 60 per minute (three times now).", "The rate limit is 60 per minute"),
    ("So the rate limit is 60 per minute (that's 3 times already)", "The rate limit is 60 per minute"),
    ("Wie gesagt, das Team sitzt in Oslo", "Das Team sitzt in Oslo"),
    ("Comme convenu, le bureau est fermé", "Le bureau est fermé"),
    ("Sí, la oficina está cerrada", "La oficina está cerrada"),
]  # fmt: skip
# Words with a meaning of their own; no two of them are forms of one word, or synonyms.
CONTENT = (
    "ledger", "porter", "Ana", "Rome", "tea", "coffee", "opens", "closed", "before", "without", "not", "left", "he",
    "deploy", "Müller", "盘", "prod", "vault", "C", "A", "7", "60", "600", "1.10", "1.1", "-5", "+5", "5%", "$5",
    ">=", "<=", "a.conf", "b.conf", "ana@example.org", "https://example.org/a", "9f86", "✅", "❌", "x_1", "12:30",
)  # fmt: skip
FRAME = ("the", "is", "our", "on", "please", "a", "to", "also")


def says(one: str, other: str) -> bool:
    answer = restates(read_statement(one), read_statement(other))
    assert answer == restates(read_statement(other), read_statement(one))
    return answer


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_a_reader_would_tell_apart_stays_apart(one, other):
    assert not says(one, other)
    alike = [make_candidate(n, text, term_ids=frozenset(range(9))) for n, text in enumerate((one, other))]
    assert len(fold_claims(alike)) == 2


@pytest.mark.parametrize(("one", "other"), RESTATED)
def test_what_is_only_worded_otherwise_folds(one, other):
    assert says(one, other)
    pool = [make_candidate(n, text, term_ids=hash_terms(terms(text))) for n, text in enumerate((one, other))]
    assert len(fold_claims(pool)) == 1


def test_the_tables_are_long_enough_to_mean_something():
    assert len(APART) >= 60
    assert len(RESTATED) >= 40


@given(st.lists(st.sampled_from(CONTENT + FRAME), min_size=2, max_size=9), st.data())
def test_another_word_digit_sign_or_symbol_keeps_texts_apart(words, data):
    places = [place for place, word in enumerate(words) if word in CONTENT and (place or word != "A")]
    assume(places)
    place = data.draw(st.sampled_from(places))
    other = data.draw(st.sampled_from([word for word in CONTENT if word != words[place]]))
    changed = [*words[:place], other, *words[place + 1 :]]
    assert not says(f"So {' '.join(words)}", f"So {' '.join(changed)}")


@given(st.lists(st.sampled_from(CONTENT + FRAME), min_size=2, max_size=9), st.data())
def test_one_word_digit_sign_or_symbol_less_keeps_texts_apart(words, data):
    places = [place for place, word in enumerate(words) if word in CONTENT]
    assume(places)
    place = data.draw(st.sampled_from(places))
    assert not says(f"So {' '.join(words)}", f"So {' '.join(words[:place] + words[place + 1 :])}")


surroundings = st.text(alphabet="aB1-+.,% €/'\"é三", max_size=12)


@given(surroundings, surroundings, st.sampled_from("023456789"))
def test_another_digit_keeps_texts_apart_whatever_is_around_it(before, after, digit):
    assert not says(f"{before}1{after}", f"{before}{digit}{after}")


@given(st.text(max_size=60))
def test_a_text_restates_itself_whatever_it_is(text):
    assert says(text, text)


def test_no_order_of_three_names_restates_another():
    texts = [f"{a} introduces {b} to {c}" for a, b, c in permutations(("Ana", "Bob", "Carol"))]
    assert not any(says(one, other) for one, other in permutations(texts, 2))


@pytest.mark.parametrize(
    "text", ["note that " * 9_000, "a, " * 20_000, '"' * 30_000, "(" * 30_000, "on every " * 9_000]
)
def test_a_hostile_text_is_read_in_linear_time(text):
    start = process_time()
    read_statement(text)
    assert process_time() - start < 2
