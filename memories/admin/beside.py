"""What the apps above tell of memories, on the pages of this one: each says so when the server starts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from memories.access import Caller
from memories.models import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a memory's page: a template, and what it shows under the name `told`."""

    template: str
    told: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that a search found, how well it answers, and why."""

    ref: str
    relevance: float
    retrievers: Sequence[str]
    words: Sequence[str]  # of what was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The best hits, best first, and how many there were."""

    hits: Sequence[Hit]
    count: int


SectionFor = Callable[[HttpRequest, Memory], Section | None]
Search = Callable[[Caller, str], Finding]

_sections: dict[str, SectionFor] = {}
_searches: dict[str, Search] = {}
_AGENTS = "agents"


def add_section(name: str, section: SectionFor) -> None:
    """Add a part to the page of every memory; None where its reader may not look at what it tells."""
    _sections[name] = section


def sections_beside(request: HttpRequest, memory: Memory) -> list[Section]:
    told = [look(request, memory) for look in _sections.values()]
    return [section for section in told if section is not None]


def search_as_agents_do(search: Search) -> None:
    """Say how an agent's question finds memories."""
    _searches[_AGENTS] = search


def found_by_agents(caller: Caller, question: str) -> Finding:
    return _searches[_AGENTS](caller, question)
