"""Token usage, prices and spending limits of a language model."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xsent.config_checks import check_number

MILLION = 1_000_000


class Usage(NamedTuple):
    """Tokens that are billed."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        return self.prompt + self.completion

    def __str__(self) -> str:
        return f"{self.prompt:,} tokens of prompts and {self.completion:,} of answers"


NO_USAGE = Usage(0, 0)


def read_usage(content: Any) -> Usage | None:
    """Usage that a response reports; None if it reports none."""
    usage = content.get("usage") if isinstance(content, dict) else None
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if isinstance(prompt, int) and isinstance(completion, int) and min(prompt, completion) >= 0:
        return Usage(prompt, completion)
    return None


def add_usage(*usages: Usage) -> Usage:
    return Usage(sum(usage.prompt for usage in usages), sum(usage.completion for usage in usages))


def with_cost(usage: Usage, cost: float | None) -> str:
    return str(usage) if cost is None else f"{usage}, cost {cost:,.4f}"


@dataclass(frozen=True)
class Prices:
    """Price of a million tokens, in any currency; None: unknown."""

    prompt: float | None
    completion: float | None

    def __post_init__(self) -> None:
        for name, price in (("prompt", self.prompt), ("completion", self.completion)):
            if price is not None:
                check_number(f"maker.prices.{name}", price)

    def cost(self, usage: Usage) -> float | None:
        """Cost of a usage; None if a price is unknown."""
        if self.prompt is None or self.completion is None:
            return None
        return (usage.prompt * self.prompt + usage.completion * self.completion) / MILLION


@dataclass(eq=False)
class Spending:
    """Reserves the most that a request may use before it is sent, and counts what it used."""

    before: Usage  # in the ledger
    prices: Prices
    limit_cost: float | None  # on all answers of the model in the ledger, earlier runs included; None: no limit
    limit_tokens: int | None
    used: Usage = field(default=NO_USAGE, init=False)  # of this run
    in_flight: int = field(default=0, init=False)  # requests
    _reserved: Usage = field(default=NO_USAGE, init=False)  # bound of the requests in flight
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition, init=False)

    async def reserve(self, bound: Usage) -> None:
        """Wait until a request with this bound fits the limits.

        Raises:
            ValueError: it never will; the message tells how to continue.
        """
        async with self._changed:
            while limit := self._limit_exceeded_by(bound):
                if not self.in_flight:
                    spent = add_usage(self.before, self.used)
                    raise ValueError(
                        f"stopped at maker.{limit}: the next request may use {bound}, and"
                        f" {with_cost(spent, self.prices.cost(spent))} so far, earlier runs with this ledger included;"
                        " with a higher limit the same command continues"
                    )
                # Requests in flight usually use less than their bound.
                await self._changed.wait()
            self._reserved = add_usage(self._reserved, bound)
            self.in_flight += 1

    async def settle(self, bound: Usage, used: Usage) -> None:
        """Replace the reserved bound of a request by what it used."""
        # Counted before any await, which may be cancelled.
        self._reserved = Usage(self._reserved.prompt - bound.prompt, self._reserved.completion - bound.completion)
        self.used = add_usage(self.used, used)
        self.in_flight -= 1
        async with self._changed:
            self._changed.notify_all()

    async def settled(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: not self.in_flight)

    def _limit_exceeded_by(self, bound: Usage) -> str | None:
        """The first limit that one more request may exceed, as ``option=value``."""
        usage = add_usage(self.before, self.used, self._reserved, bound)
        cost = self.prices.cost(usage)
        if self.limit_cost is not None and cost is not None and cost > self.limit_cost:
            return f"limit_cost={self.limit_cost:g}"
        if self.limit_tokens is not None and usage.total > self.limit_tokens:
            return f"limit_tokens={self.limit_tokens}"
        return None
