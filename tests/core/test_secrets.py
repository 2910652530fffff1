import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.core.secrets import mask_secrets

# Made up, and put together here so that no scanner takes this file for a leak.
LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6iJ9lM2oP5rS8uV1xY4zB7eH0kN3q"
KEYS = {
    "cortex_token": "ctx_" + LETTERS[:43],
    "aws_access_key": "AKIA" + "IOSFODNN7EXAMPLE",
    "github_token": "ghp_" + LETTERS[:36],
    "gitlab_token": "glpat-" + LETTERS[:20],
    "slack_token": "xoxb-" + "123456789012-" + LETTERS[:24],
    "slack_webhook": "hooks.slack.com/services/T0001/B0001/" + LETTERS[:24],
    "anthropic_key": "sk-ant-" + "api03-" + LETTERS[:40],
    "openai_key": "sk-proj-" + LETTERS[:48],
    "google_key": "AIza" + LETTERS[:35],
    "stripe_key": "sk_live_" + LETTERS[:24],
    "npm_token": "npm_" + LETTERS[:36],
    "pypi_token": "pypi-" + LETTERS[:60],
    "telegram_token": "123456789:AA" + LETTERS[:33],
    "huggingface_token": "hf_" + LETTERS[:34],
    "sendgrid_key": "SG." + LETTERS[:22] + "." + LETTERS[:43],
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + LETTERS[:43],
    "private_key": "-----BEGIN RSA PRIVATE KEY-----\n" + LETTERS + "\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize(("name", "key"), KEYS.items())
@pytest.mark.parametrize("around", ["use {} now", "密钥是{}请保存", "ключ{}тут", "({})", "a{}", "{}"])
def test_it_masks_the_keys_of_vendors_glued_to_any_script(name, key, around):
    masked, count = mask_secrets(around.format(key))
    assert masked == around.format(f"[masked:{name}]")
    assert count == 1


@given(st.text(max_size=40), st.sampled_from(sorted(KEYS.values())), st.text(max_size=40))
def test_it_never_leaves_a_known_key(before, key, after):
    masked, count = mask_secrets(before + key + after)
    assert key not in masked
    assert count >= 1


@given(st.text(max_size=60), st.sampled_from(sorted(KEYS.values())), st.text(max_size=60))
def test_it_changes_nothing_the_second_time(before, key, after):
    masked, _ = mask_secrets(before + key + after)
    assert mask_secrets(masked) == (masked, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: hunter2abc", "password: [masked:password]"),
        ("DB_PASSWORD=s3cr3tPa55!", "DB_PASSWORD=[masked:password]!"),
        ('{"password": "correct-Horse-9"}', '{"password": "[masked:password]"}'),
        ("The password for the wifi is Blue-42-Heron.", "The password for the wifi is [masked:password]."),
        ("密码是hunter2abc，别忘了", "密码是[masked:password]，别忘了"),
        ("パスワード：hunter2abc", "パスワード：[masked:password]"),
        ("token=9f8a7b6c5d4e3f2a1b", "token=[masked:token]"),
        ("api_key: 'Zx81kLmN0pQ7'", "api_key: '[masked:token]'"),
        ("postgres://ana:s3cret@db/app", "postgres://[masked:password]@db/app"),
        ("Authorization: Bearer abc123def456ghi789jkl", "Authorization: Bearer [masked:bearer_token]"),
    ],
)
def test_it_masks_what_is_assigned_to_a_password_or_token(text, expected):
    assert mask_secrets(text) == (expected, 1)


@pytest.mark.parametrize(
    "card",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "5555555555554444",
        "3782 822463 10005",
        "378282246310005",
        "6011111111111117",
        "3530111333300000",
        "30569309025904",
        "4222222222222",
        "４１１１１１１１１１１１１１１１",
    ],
)
def test_it_masks_card_numbers_glued_to_any_script(card):
    assert mask_secrets(f"my card {card}, ok") == ("my card [masked:card_number], ok", 1)
    assert mask_secrets(f"卡号{card}有效") == ("卡号[masked:card_number]有效", 1)


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112",
        "+49 151 1234 5678 90",
        "phone: 4222222222222",
        "2024-05-03 10:30:00",
        "20240503103000",
        "1717410600000",
        "1717410600123456789",
        "order 12345678901234567890123",
        "0.4111111111111111",
        "The password policy is strict",
        "password: required",
        "password: <see vault>",
        "token: mem_74c8d142c370",
        "token budget: 3500",
        "tokens: 12000abc",
        "password=${DB_PASSWORD1}",
        "secret santa is on 3 May",
        "the secret is out",
        "task-internationalisation",
        "Remember that my locker is 14",
        "commit 9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f00",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "see https://example.org:8080/a@b",
        "设备清单在抽屉里",
        "",
    ],
)
def test_it_leaves_in_peace_what_is_no_secret(text):
    assert mask_secrets(text) == (text, 0)


def test_it_masks_a_key_whose_end_was_cut_off_and_keeps_the_prose_behind_it():
    text = "-----BEGIN PRIVATE KEY-----\n" + LETTERS + "\nThat was the key."
    assert mask_secrets(text) == ("[masked:private_key]\nThat was the key.", 1)


def test_it_counts_each_secret():
    assert mask_secrets(" ".join(KEYS.values()))[1] == len(KEYS)


@pytest.mark.parametrize(
    "hostile",
    [
        "eyJ" * 300_000,
        "eyJaaaaaaaa." * 80_000,
        "password" * 120_000,
        "password is " * 80_000,
        "-----BEGIN PRIVATE KEY-----" * 30_000,
        "1-" * 500_000,
        "4" * 1_000_000,
        "sk-" * 300_000,
        "M" * 1_000_000,
        "://" * 300_000,
        "bearer " * 140_000,
    ],
)
def test_it_answers_hostile_text_in_linear_time(hostile):
    masked, _ = mask_secrets(hostile)
    assert isinstance(masked, str)
