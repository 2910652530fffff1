"""The admin's search as agents do: the answer to `find` of /v1/query, with how well each hit answers and why."""

from typing import Final

from django.utils import timezone

from contextpack.core.mql import TEXT_LIMIT, Mql
from contextpack.querying import answer_query
from memories.access import Caller
from memories.admin.beside import Finding, Hit

HITS_SHOWN: Final = 200


def find_as_agents_do(caller: Caller, question: str) -> Finding:
    """Find what an agent with this view of the vault would; the best so many are told."""
    asked = Mql(find=question[:TEXT_LIMIT], k=HITS_SHOWN)
    answer = answer_query(caller, asked, now=timezone.now())
    hits = [
        Hit(
            ref=item["ref"],
            relevance=item["relevance"] or 0.0,
            retrievers=item["why"]["retrievers"],
            words=item["why"]["matched_terms"],
        )
        for item in answer["items"]
    ]
    return Finding(hits=hits, count=answer["narrowed_to"])
