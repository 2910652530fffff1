"""What the demo remembers: the launch of Atlas, a route planner for cargo bikes, as its team would note it.

Decisions, facts, rules, habits, steps, open questions, a claim told three times, and one that a newer one
replaces. Atlas, its team and its towns' couriers are invented.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

SOURCE_URL: Final = "https://wiki.atlas.example/notes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """One memory, and how many days before the demo it happened."""

    key: str
    kind: str
    content: str
    days_ago: float
    summary: str | None = None
    confidence: float | None = None
    author: str = "user"

    def as_wire(self, now: datetime) -> dict[str, Any]:
        """Return the body of `POST /v1/memories`."""
        stated = {"summary": self.summary, "confidence": self.confidence}
        return {
            "content": self.content,
            "kind": self.kind,
            "author": self.author,
            "occurred_at": (now - timedelta(days=self.days_ago)).isoformat(),
            "source": {"url": f"{SOURCE_URL}/{self.key}"},
            **{name: value for name, value in stated.items() if value is not None},
        }


TASK: Final = "Plan the Atlas launch: readiness, owners of each workstream, and what could still stop us"
SEARCH: Final = "Atlas launch readiness workstream"

# The same claim three times: one item carries it, the other two are folded into it.
RESTATED: Final = ("owner-web", "owner-web-again", "owner-web-reminder")
REPLACED: Final = "status-page-old"
REPLACED_LATER: Final = "beta-size"

SEEDS: Final[tuple[Seed, ...]] = (
    # -- Decisions
    Seed(
        key="launch-date",
        kind="decision",
        days_ago=6.2,
        content=(
            "The Atlas launch is on Tuesday 12 May at 09:00 UTC. The date was fixed once the import of the old "
            "routes had been rehearsed twice without a loss."
        ),
        confidence=0.95,
    ),
    Seed(
        key="web-first",
        kind="decision",
        days_ago=21.4,
        content=(
            "For the Atlas launch we ship the web planner first. The phone app follows six weeks later, because "
            "its offline maps still take forty seconds to open."
        ),
    ),
    Seed(
        key="database",
        kind="decision",
        days_ago=63.0,
        content=(
            "Atlas keeps its routes in PostgreSQL with one read replica. A document store was turned down, since "
            "the monthly reports need joins."
        ),
    ),
    Seed(
        key="pricing",
        kind="decision",
        days_ago=17.3,
        content=(
            "Launch pricing for Atlas: free for up to three riders, then 8 euros for each rider and month. The "
            "founders' discount ends with the launch."
        ),
    ),
    Seed(
        key="go-or-no-go",
        kind="decision",
        days_ago=5.1,
        content=(
            "Mira Okafor decides go or no-go for the Atlas launch on the evening before, with the readiness list "
            "in hand."
        ),
        confidence=0.9,
    ),
    Seed(
        key="review-moved",
        kind="decision",
        days_ago=3.4,
        content=(
            "The readiness review of the Atlas launch moved from Friday to Thursday, so that fixes have a working "
            "day left."
        ),
    ),
    # -- Facts
    Seed(
        key="owner-web",
        kind="claim",
        days_ago=12.6,
        content=(
            "For the Atlas launch, Jonas Weber's web workstream owns the marketing site, the sign-up flow and the "
            "status page."
        ),
    ),
    Seed(
        key="owner-web-again",
        kind="claim",
        days_ago=9.7,
        content=(
            "As agreed, for the Atlas launch, Jonas Weber's web workstream owns the marketing site, the sign-up flow and "
            "the status page."
        ),
    ),
    Seed(
        key="owner-web-reminder",
        kind="claim",
        days_ago=4.8,
        content=(
            "Reminder: for the Atlas launch, Jonas Weber's web workstream owns the marketing site, the sign-up "
            "flow and also the status page."
        ),
        author="agent",
    ),
    Seed(
        key="owner-billing",
        kind="claim",
        days_ago=13.1,
        content=(
            "Priya Nair's billing workstream owns invoices, the trial period and the refund rules of the Atlas "
            "launch."
        ),
    ),
    Seed(
        key="owner-operations",
        kind="claim",
        days_ago=11.9,
        content=(
            "Tomas Silva's operations workstream owns capacity, backups and the rollback of the Atlas launch, and "
            "holds the only keys to the route cache."
        ),
    ),
    Seed(
        key="owner-support",
        kind="claim",
        days_ago=10.5,
        content=(
            "Lena Fischer's support workstream writes the help pages and staffs the launch chat of Atlas from "
            "07:00 to 19:00 UTC."
        ),
    ),
    Seed(
        key="load-test",
        kind="observation",
        days_ago=7.3,
        content=(
            "The last load test before the Atlas launch held 1,400 route requests a second. The slowest twentieth "
            "took 310 ms or longer with a warm cache and 920 ms with a cold one. The queue for printed route "
            "sheets was the first to fall behind, at 1,100 a second, and caught up within two minutes. Tomas Silva "
            "wants the same run again with the second load balancer in place before the readiness review."
        ),
        summary=(
            "Before the Atlas launch a load test held 1,400 requests a second; the print queue fell behind first."
        ),
    ),
    Seed(
        key="beta-size",
        kind="claim",
        days_ago=15.2,
        content=(
            "The Atlas beta has 212 active couriers in Lisbon, Graz and Tampere, and 61 of them want to speak at "
            "the launch."
        ),
    ),
    Seed(
        key="status-page-old",
        kind="claim",
        days_ago=80.0,
        content="The status page for the Atlas launch is hosted by Harbor Host under status.atlas.example.",
    ),
    # -- Rules
    Seed(
        key="rule-unfinished",
        kind="negative",
        days_ago=41.0,
        content=(
            "Never announce an Atlas feature that is still behind the launch flag; the press learns only what the "
            "go list names."
        ),
    ),
    Seed(
        key="rule-mail",
        kind="negative",
        days_ago=33.5,
        content=(
            "Do not send mail about the Atlas launch to couriers who opted out, not even as a service notice."
        ),
    ),
    Seed(
        key="rule-migrations",
        kind="negative",
        days_ago=26.8,
        content=(
            "No schema migration on the Atlas database from 48 hours before the launch until 24 hours after it."
        ),
    ),
    # -- Habits and taste
    Seed(
        key="plan-as-table",
        kind="preference",
        days_ago=29.2,
        content="Mira wants the launch plan as a table with owner, due day and state; slides she sends back.",
    ),
    Seed(
        key="plain-updates",
        kind="style",
        days_ago=37.6,
        content="Updates on the Atlas launch stay under 120 words, in plain English, with the risk first.",
    ),
    Seed(
        key="review-comments",
        kind="preference",
        days_ago=52.0,
        content="Jonas wants review comments in the pull request and not in chat.",
    ),
    # -- How things are done
    Seed(
        key="rollback",
        kind="procedure",
        days_ago=8.4,
        content=(
            "To roll the Atlas launch back, freeze writes and switch the flag atlas_public off. Then restore the "
            "route cache from the last snapshot, thaw writes, and post on the status page. In rehearsal this took "
            "eleven minutes; the cache alone took seven of them."
        ),
        summary="Rolling the Atlas launch back: freeze, flag off, restore the cache, thaw, post; eleven minutes.",
    ),
    Seed(
        key="readiness-check",
        kind="procedure",
        days_ago=5.9,
        content=(
            "Readiness check of the Atlas launch: run the smoke suite, compare the error budget, ring the owner of "
            "each workstream, and write go or no-go into the readiness list."
        ),
    ),
    Seed(
        key="beta-seat",
        kind="procedure",
        days_ago=47.1,
        content="To give a courier a beta seat, invite them from the admin page and add their depot's time zone.",
    ),
    # -- Open ends
    Seed(
        key="who-signs-off",
        kind="question",
        days_ago=2.7,
        content="Who signs off the translated help pages before the Atlas launch, Lena or the agency?",
    ),
    Seed(
        key="load-balancer",
        kind="action",
        days_ago=1.8,
        content=(
            "Tomas still has to order the second load balancer for the Atlas launch; delivery takes nine days."
        ),
    ),
    Seed(
        key="cap-free-routes",
        kind="question",
        days_ago=1.2,
        content="Do we cap free routes on the day of the Atlas launch if the queue passes 20,000?",
    ),
    # -- What merely happened
    Seed(
        key="rehearsal",
        kind="event",
        days_ago=4.1,
        content="At the rehearsal for the Atlas launch the import of the old routes took 47 minutes and lost nothing.",
    ),
    Seed(
        key="closed-bridge",
        kind="observation",
        days_ago=0.6,
        content="Two couriers in Graz report that Atlas sends them over the closed bridge at the Mur.",
    ),
    Seed(
        key="office-plants",
        kind="claim",
        days_ago=58.0,
        content="Whoever comes in first on a Monday waters the plants by the south window.",
    ),
)

# What takes the place of REPLACED before the acts begin, and of REPLACED_LATER in the middle of a conversation.
SUCCESSOR: Final = Seed(
    key="status-page-new",
    kind="claim",
    days_ago=0.9,
    content=(
        "The status page for the Atlas launch is hosted by Quayside under pages.atlas.example since the outage in "
        "April."
    ),
)
LATER_SUCCESSOR: Final = Seed(
    key="beta-size-recounted",
    kind="claim",
    days_ago=0.1,
    content="The Atlas beta has 240 active couriers in Lisbon, Graz and Tampere; 75 want to speak at the launch.",
)
