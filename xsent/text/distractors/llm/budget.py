"""Token usage, prices and spending limits of a language model."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, NamedTuple

from xsent.text.config_checks import check_integer, check_number

MILLION = 1_000_000


class Usage(NamedTuple):
    """Tokens that are billed."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt + self.completion

    def __str__(self) -> str:
        """For messages."""
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


def add_usage(first: Usage, second: Usage) -> Usage:
    """Sum of two usages."""
    return Usage(first.prompt + second.prompt, first.completion + second.completion)


@dataclass(frozen=True)
class Prices:
    """Price of a million tokens, in any currency; None: unknown."""

    prompt: float | None
    completion: float | None

    def check(self) -> None:
        """Raise ``ValueError`` for an invalid value."""
        for name, price in (("prompt", self.prompt), ("completion", self.completion)):
            if price is not None:
                check_number(f"maker.prices.{name}", price, minimum=0)

    def cost(self, usage: Usage) -> float | None:
        """Cost of a usage; None if a price is unknown."""
        if self.prompt is None or self.completion is None:
            return None
        return (usage.prompt * self.prompt + usage.completion * self.completion) / MILLION


@dataclass(frozen=True)
class Limits:
    """Limits on all answers of a model in a ledger, earlier runs included; None: no limit."""

    cost: float | None
    tokens: int | None

    def check(self) -> None:
        """Raise ``ValueError`` for an invalid value."""
        if self.cost is not None:
            check_number("maker.limit_cost", self.cost, minimum=0)
        if self.tokens is not None:
            check_integer("maker.limit_tokens", self.tokens, minimum=0)

    def first_exceeded(self, usage: Usage, prices: Prices) -> str | None:
        """The first limit that a usage exceeds, as ``option=value``."""
        cost = prices.cost(usage)
        if self.cost is not None and cost is not None and cost > self.cost:
            return f"limit_cost={self.cost:g}"
        if self.tokens is not None and usage.total > self.tokens:
            return f"limit_tokens={self.tokens}"
        return None


class Spending:
    """Reserves the most that a request may use before it is sent, and counts what it used.

    Args:
        before: usage in the ledger.
        prices: of tokens.
        limits: on spending.
    """

    def __init__(self, before: Usage, prices: Prices, limits: Limits) -> None:
        self.before = before
        self.prices = prices
        self.limits = limits
        self.used = NO_USAGE  # of this run
        self.in_flight = 0  # requests
        self._reserved = NO_USAGE  # bound of the requests in flight
        self._changed = asyncio.Condition()

    async def reserve(self, bound: Usage) -> None:
        """Wait until a request with this bound fits the limits.

        Raises:
            ValueError: it never will; the message tells how to continue.
        """
        async with self._changed:
            while limit := self._exceeded_by(bound):
                if not self.in_flight:
                    raise ValueError(self._limit_message(limit, bound))
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
        """Wait until no request is in flight."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self.in_flight)

    def _exceeded_by(self, bound: Usage) -> str | None:
        return self.limits.first_exceeded(
            add_usage(add_usage(self.before, self.used), add_usage(self._reserved, bound)), self.prices
        )

    def _limit_message(self, limit: str, bound: Usage) -> str:
        total = add_usage(self.before, self.used)
        cost = self.prices.cost(total)
        spent = f"{total}" + ("" if cost is None else f" cost {cost:.4f}")
        return (
            f"stopped at maker.{limit}: the next request may use {bound}, and {spent} so far,"
            " earlier runs with this ledger included; with a higher limit the same command continues"
        )
