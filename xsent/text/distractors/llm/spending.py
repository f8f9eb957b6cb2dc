"""What answers cost, and that they never cost more than they may."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, NamedTuple

from xsent.text.distractors.values import check_number, check_whole

MILLION = 1_000_000


class Usage(NamedTuple):
    """Tokens that are paid for."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        """Of both kinds."""
        return self.prompt + self.completion

    def __str__(self) -> str:
        """Both, for a message."""
        return f"{self.prompt:,} tokens of prompts and {self.completion:,} of answers"


NOTHING = Usage(0, 0)


def counted(content: Any) -> Usage | None:
    """Tokens that an endpoint says were used, in the content of any answer; None where it does not say."""
    found = content.get("usage") if isinstance(content, dict) else None
    if not isinstance(found, dict):
        return None
    prompt, completion = found.get("prompt_tokens"), found.get("completion_tokens")
    if isinstance(prompt, int) and isinstance(completion, int) and min(prompt, completion) >= 0:
        return Usage(prompt, completion)
    return None


def added(one: Usage, other: Usage) -> Usage:
    """The tokens of both."""
    return Usage(one.prompt + other.prompt, one.completion + other.completion)


@dataclass(frozen=True)
class Prices:
    """What a million tokens cost, in whatever currency; None: not known."""

    prompt: float | None
    completion: float | None

    def check(self) -> None:
        """Raise ``ValueError`` where a value makes no sense."""
        for name, price in (("prompt", self.prompt), ("completion", self.completion)):
            if price is not None:
                check_number(f"maker.prices.{name}", price, least=0)

    def cost(self, usage: Usage) -> float | None:
        """Of so many tokens; None where a price is not known."""
        if self.prompt is None or self.completion is None:
            return None
        return (usage.prompt * self.prompt + usage.completion * self.completion) / MILLION


@dataclass(frozen=True)
class Limits:
    """What all answers of a model in a ledger may cost together, those of earlier runs too; None: no limit."""

    cost: float | None
    tokens: int | None

    def check(self) -> None:
        """Raise ``ValueError`` where a value makes no sense."""
        if self.cost is not None:
            check_number("maker.limit_cost", self.cost, least=0)
        if self.tokens is not None:
            check_whole("maker.limit_tokens", self.tokens, least=0)

    def first_exceeded(self, usage: Usage, prices: Prices) -> str | None:
        """Which limit so many tokens are beyond, as a config names it."""
        cost = prices.cost(usage)
        if self.cost is not None and cost is not None and cost > self.cost:
            return f"limit_cost={self.cost:g}"
        if self.tokens is not None and usage.total > self.tokens:
            return f"limit_tokens={self.tokens}"
        return None


class Spending:
    """Keeps requests from being sent that could exceed a limit, and counts what the others used.

    Args:
        before: what the ledger holds already.
        prices, limits: as of the maker.
    """

    def __init__(self, before: Usage, prices: Prices, limits: Limits) -> None:
        self.before = before
        self.prices = prices
        self.limits = limits
        self.used = NOTHING  # of this run
        self.in_flight = 0  # requests
        self._reserved = NOTHING  # what those may use at most
        self._changed = asyncio.Condition()

    async def reserve(self, most: Usage) -> None:
        """Wait until a request that may use so much can be sent within the limits.

        Raises:
            ValueError: it never can; says how to continue.
        """
        async with self._changed:
            while limit := self._exceeded_by(most):
                if not self.in_flight:
                    raise ValueError(self._stopped_by(limit, most))
                # What is in flight will hardly use all that was reserved for it.
                await self._changed.wait()
            self._reserved = added(self._reserved, most)
            self.in_flight += 1

    async def settle(self, most: Usage, used: Usage) -> None:
        """A request for which ``most`` was reserved has used so much."""
        # Counted before anything is awaited, as that may be cancelled.
        self._reserved = Usage(self._reserved.prompt - most.prompt, self._reserved.completion - most.completion)
        self.used = added(self.used, used)
        self.in_flight -= 1
        async with self._changed:
            self._changed.notify_all()

    async def settled(self) -> None:
        """Wait until nothing is in flight."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self.in_flight)

    def _exceeded_by(self, most: Usage) -> str | None:
        return self.limits.first_exceeded(
            added(added(self.before, self.used), added(self._reserved, most)), self.prices
        )

    def _stopped_by(self, limit: str, most: Usage) -> str:
        there = added(self.before, self.used)
        cost = self.prices.cost(there)
        spent = f"{there}" + ("" if cost is None else f" cost {cost:.4f}")
        return (
            f"stopped at maker.{limit}: the next request may use {most}, and {spent} so far,"
            " earlier runs with this ledger included; with a higher limit the same command continues"
        )
