"""Distractors by a language model: each text is asked about until an answer will do, and each answer is kept."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from xsent.text.distractors.llm.answers import Rules, distractors_of
from xsent.text.distractors.llm.background import event_loop, result_of
from xsent.text.distractors.llm.client import Client, NoAnswerError, Patience, most_tokens, upper_bound
from xsent.text.distractors.llm.identification import unknown
from xsent.text.distractors.llm.ledger import Answer, Ledger
from xsent.text.distractors.llm.prompt import Call, Prompt, Text
from xsent.text.distractors.llm.secret import check_address, key_of
from xsent.text.distractors.llm.spending import NOTHING, Limits, Prices, Spending, Usage, added
from xsent.text.distractors.maker import Made, Request
from xsent.text.distractors.values import check_number, check_text, check_whole

log = logging.getLogger(__name__)

# Of sampling, with the least that each may be.
WHOLE = {"max_tokens": 1, "max_completion_tokens": 1, "seed": 0}
NUMBERS = {"temperature": 0, "top_p": 0}
# Why an endpoint has stopped, where what it said is not all.
INCOMPLETE = {
    "length": "the answer was cut off at max_tokens",
    "content_filter": "the endpoint's filter has cut it off",
}


class Outcome(NamedTuple):
    """The distractors of a text, or why it has none."""

    distractors: tuple[str, ...]
    failure: str


class Totals(NamedTuple):
    """What was sent and used by a run, and apart from that what its ledger held before."""

    requests: int  # sent, those that failed included
    answers: int  # of this run
    lost: int  # requests of this run whose answers have not come, or not whole, and may be on the bill
    lost_usage: Usage  # of those, or the most that it can have been
    usage: Usage  # of this run, those included
    cost: float | None  # of it; None: a price is not known
    answers_before: int  # in the ledger, of all models
    usage_before: Usage  # of this model
    cost_before: float | None

    def __str__(self) -> str:
        """A line."""
        now = f"{self.requests:,} requests, {self.answers:,} answers: {_with_cost(self.usage, self.cost)}"
        if self.lost:
            now += f", at most: {self.lost:,} answers were lost on the way, which may have used {self.lost_usage}"
        before = f"{self.answers_before:,} answers: {_with_cost(self.usage_before, self.cost_before)}"
        return f"{now}; the ledger had {before}"


class Plan(NamedTuple):
    """What a run would send."""

    texts: int  # different ones
    done: int  # of them, by answers in the ledger; those that all attempts have failed are done too
    answers: int  # in the ledger
    requests: int  # if each first answer will do
    most_requests: int  # if none will do before the last attempt; tries after errors aside
    estimate: Usage  # of so many requests, by a rule of thumb
    estimated_cost: float | None
    bound: Usage  # of the most requests
    bound_cost: float | None
    has_bound: bool  # whether answers are limited in length
    first_prompt: str  # of those to be sent; empty: there are none

    def __str__(self) -> str:
        """Some lines, the first prompt last."""
        most = _with_cost(self.bound, self.bound_cost) if self.has_bound else "no bound without max_tokens"
        lines = [
            f"{self.texts:,} different texts, {self.done:,} of them done; {self.answers:,} answers in the ledger",
            f"{self.requests:,} requests to send, about {_with_cost(self.estimate, self.estimated_cost)}",
            f"at most {self.most_requests:,} requests, where answers will not do: {most}",
        ]
        return "\n".join([*lines, "the first of them asks:", self.first_prompt] if self.first_prompt else lines)


class LlmMaker:
    """Distractors as Michail et al. 2025 have made them, from any OpenAI-compatible endpoint.

    An answer that will not do is asked for again by the same words, as a draw of its own: what a text gets never
    depends on answers that were thrown away.

    Args:
        count: distractors of each text.
        model: as the endpoint calls it.
        base_url: of the endpoint.
        key_env: environment variable that holds its key; None: it wants none.
        prompt: template of the question, with ``{count}``, ``{language}`` and ``{sentence}``.
        language_names: by ISO 639-3 code, for the prompt.
        temperature, top_p, max_tokens, seed: of sampling, sent with each request; None: not sent. The seed is that of
            the first attempt and grows by one for each other.
        parameters: what else is sent with each request.
        attempts: answers that are asked for until one will do.
        rules: what will do.
        concurrency: texts that are asked about at a time.
        patience: when a request is sent again.
        prices: of a million tokens.
        limit_cost, limit_tokens: what all answers of the model in the ledger may use together, those of earlier runs
            too; None: no limit. No request is sent that could exceed it.
        ledger: file of all answers; may be set before ``make``.

    Attributes:
        totals: of the last ``make``, also of one that was stopped.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.1 and Table 3.
    """

    def __init__(
        self, *, count: int, model: str | None, base_url: str, key_env: str | None, prompt: str,
        language_names: Mapping[str, str], temperature: float | None, top_p: float | None, max_tokens: int | None,
        seed: int | None, parameters: Mapping[str, Any], attempts: int, rules: Rules, concurrency: int,
        patience: Patience, prices: Prices, limit_cost: float | None, limit_tokens: int | None,
        ledger: str | Path | None,
    ) -> None:  # fmt: skip
        if not isinstance(parameters, Mapping):
            raise ValueError(f"maker.parameters={parameters}: expected names with their values")
        self.count = count
        self.model = model
        self.base_url = base_url
        self.key_env = key_env
        self.prompt = Prompt(prompt, language_names, count)
        sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "seed": seed}
        self.parameters = {name: value for name, value in {**sampling, **parameters}.items() if value is not None}
        self.attempts = attempts
        self.rules = rules
        self.concurrency = concurrency
        self.patience = patience
        self.prices = prices
        self.limits = Limits(limit_cost, limit_tokens)
        self.ledger = ledger
        self._said: set[str] = set()  # languages that were warned of
        self.totals = Totals(0, 0, 0, NOTHING, NOTHING, None, 0, NOTHING, None)

    def check(self, languages: Iterable[str]) -> None:
        """Look at all that can be looked at without a key and a connection.

        Raises:
            ValueError: an option is missing or makes no sense, or the prompt has no name for a language.
            ImportError: a package that this needs is not installed.
        """
        languages = list(languages)
        if not self.model:
            raise ValueError(
                "maker.model: expected a model of the endpoint, found none; answers may cost, so none is taken unasked."
                " The paper's was gpt-4-0613"
            )
        for name in ("model", "base_url"):
            check_text(f"maker.{name}", getattr(self, name))
        check_text("maker.prompt", self.prompt.template)
        if not isinstance(self.prompt.language_names, Mapping):
            raise ValueError(f"maker.language_names={self.prompt.language_names}: expected names by ISO 639-3 code")
        for code, name in self.prompt.language_names.items():
            check_text(f"maker.language_names.{code}", name)
        if self.key_env is not None:
            check_text("maker.key_env", self.key_env)
        if not isinstance(self.ledger, Path | None):
            check_text("maker.ledger", self.ledger)
        check_address(self.base_url)
        for name in ("count", "attempts", "concurrency"):
            check_whole(f"maker.{name}", getattr(self, name), least=1)
        self._check_parameters()
        for name, part, kind in (
            ("rules", self.rules, Rules), ("patience", self.patience, Patience), ("prices", self.prices, Prices),
        ):  # fmt: skip
            if not isinstance(part, kind):
                raise ValueError(f"maker.{name}={part}: expected the values of {kind.__name__}")
            part.check()
        self._check_limits()
        self.prompt.check(languages)
        if self.rules.wrong_language is not None:
            new = [language for language in unknown(languages) if language not in self._said]
            if new:
                log.warning(
                    "py3langid does not know %s: whether distractors are in it is not looked at", ", ".join(new)
                )
                self._said.update(new)

    def _check_parameters(self) -> None:
        for name in WHOLE.keys() & self.parameters.keys():
            check_whole(f"maker.{name}", self.parameters[name], least=WHOLE[name])
        for name in NUMBERS.keys() & self.parameters.keys():
            check_number(f"maker.{name}", self.parameters[name], least=NUMBERS[name])
        if {"max_tokens", "max_completion_tokens"} <= self.parameters.keys():
            raise ValueError(
                "maker.parameters.max_completion_tokens: expected it alone, found max_tokens, too; say"
                " maker.max_tokens=null"
            )
        if ours := {"model", "messages", "stream", "n"} & self.parameters.keys():
            raise ValueError(f"maker.parameters: {', '.join(sorted(ours))} cannot be chosen here")

    def _check_limits(self) -> None:
        self.limits.check()
        if self.limits.cost is not None and self.prices.cost(NOTHING) is None:
            raise ValueError("maker.limit_cost: expected maker.prices of prompts and completions with it, found none")
        if self.limits != Limits(None, None) and not most_tokens(self.parameters):
            raise ValueError(
                "maker.max_tokens: expected a number, found none; a limit on spending needs a limit on answers"
            )

    def plan(self, requests: Sequence[Request]) -> Plan:
        """What ``make`` would send; nothing is sent, written or locked, and no key is needed.

        Raises:
            ValueError: as of ``check``, or a line of the ledger is not one.
            OSError: there is something to ask, and the ledger could not keep the answer.
        """
        self.check({request.language for request in requests})
        ledger = None if self.ledger is None else Ledger(Path(self.ledger), str(self.model))
        answers: Mapping[str, Answer] = {}
        if ledger is not None:
            ledger.read()
            answers = ledger.answers
        texts = _different(requests)
        calls = {text: step for text in texts if isinstance(step := self._step(text, answers), Call)}
        if calls and ledger is not None:
            ledger.check()
        estimate = bound = NOTHING
        for text, call in calls.items():
            # Four bytes a token, and distractors as long as their text: a rule of thumb, for this alone.
            estimate = added(estimate, Usage(call.size // 4, self.count * (len(text.text.encode()) // 4 + 4)))
            for _ in range(call.attempt, self.attempts + 1):
                bound = added(bound, upper_bound(call))
        first = next(iter(calls.values()), None)
        return Plan(
            len(texts), len(texts) - len(calls), len(answers), len(calls),
            sum(self.attempts + 1 - call.attempt for call in calls.values()),
            estimate, self.prices.cost(estimate), bound, self.prices.cost(bound),
            bool(most_tokens(self.parameters)), first.messages[-1]["content"] if first else "",
        )  # fmt: skip

    def make(self, requests: Sequence[Request], *, progress: bool) -> Iterator[Made]:
        """What is made of each request, in their order; texts with answers in the ledger are not asked about again.

        Interrupted or stopped, it keeps the answers that have come; the same ``make`` continues.

        Raises:
            ValueError: as of ``check``; there is no ledger, or no key where one is needed; the next request could
                exceed a limit; or the endpoint takes no such request, also for want of money.
            PermissionError: the endpoint refuses the key.
            ConnectionError: it cannot be reached, is not an endpoint, or has answered nothing for long.
            BlockingIOError: another process has the ledger.
            OSError: an answer could not be kept, which is said before one is asked for, or cannot any more.
        """
        self.check({request.language for request in requests})
        if self.ledger is None:
            raise ValueError("maker.ledger: expected a file that keeps the answers, found none")
        texts = _different(requests)
        with Ledger(Path(self.ledger), str(self.model)) as ledger:
            done = {text: step for text in texts if isinstance(step := self._step(text, ledger.answers), Outcome)}
            known = f"{len(ledger.answers):,} answers in the ledger"
            log.info("%s different texts, %s of them done; %s", f"{len(texts):,}", f"{len(done):,}", known)
            waiting = [text for text in texts if text not in done]
            with (
                self._asking(waiting, ledger) as outcomes,
                tqdm(requests, desc="asking", unit=" texts", delay=2, disable=not progress) as bar,
            ):
                for request in bar:
                    text = Text(request.language, request.text)
                    found = done[text] if text in done else result_of(outcomes[text])
                    yield Made(request, found.distractors, (), found.failure)

    @contextmanager
    def _asking(self, texts: Sequence[Text], ledger: Ledger) -> Iterator[Mapping[Text, Future[Outcome]]]:
        """The outcomes of texts, which come one after the other; at the end the totals are counted."""
        spending = Spending(ledger.usage, self.prices, self.limits)
        client, before = None, len(ledger.answers)
        try:
            if not texts:
                yield {}
                return
            key = key_of(self.key_env)
            ledger.check()
            client = Client(
                base_url=self.base_url, key=key, key_env=self.key_env, ledger=ledger,
                spending=spending, concurrency=self.concurrency, patience=self.patience,
            )  # fmt: skip
            with event_loop() as loop:
                try:
                    yield {text: loop.start(self._outcome(text, client)) for text in texts}
                except (ValueError, OSError):
                    # Nothing is sent any more; what is under way has been paid, so its answers are waited for.
                    loop.run(spending.settled())
                    raise
                finally:
                    loop.cancel()
                    loop.run(client.close())
        finally:
            lost = client.lost if client else []
            self.totals = Totals(
                client.requests if client else 0, len(ledger.answers) - before,
                len(lost), reduce(added, lost, NOTHING), spending.used, self.prices.cost(spending.used),
                before, spending.before, self.prices.cost(spending.before),
            )  # fmt: skip

    async def _outcome(self, text: Text, client: Client) -> Outcome:
        """What comes of a text, asking as long as that may help."""
        while isinstance(step := self._step(text, client.ledger.answers), Call):
            try:
                await client.ask(step)
            except NoAnswerError as error:
                return Outcome((), str(error))
        return step

    def _step(self, text: Text, answers: Mapping[str, Answer]) -> Outcome | Call:
        """What the answers say of a text, or what is to be asked next.

        The answers alone decide it, so that a run that was killed continues where it was.
        """
        reasons = []
        for attempt in range(1, self.attempts + 1):
            call = Call(str(self.model), self.prompt.messages(text), self._parameters_of(attempt), attempt)
            if call.key not in answers:
                return call
            answer = answers[call.key]
            try:
                return Outcome(self._distractors(answer, text), "")
            except ValueError as error:
                reasons.append(str(error))
        return Outcome((), f"no usable answer in {self.attempts}: {'; '.join(dict.fromkeys(reasons))}")

    def _parameters_of(self, attempt: int) -> Mapping[str, Any]:
        """Those of a request; the same seed would draw the same answer again."""
        if "seed" not in self.parameters:
            return self.parameters
        return {**self.parameters, "seed": self.parameters["seed"] + attempt - 1}

    def _distractors(self, answer: Answer, text: Text) -> tuple[str, ...]:
        if answer.finish_reason in INCOMPLETE:
            raise ValueError(INCOMPLETE[answer.finish_reason])
        return distractors_of(answer.said, text, self.count, self.rules)


def _different(requests: Iterable[Request]) -> list[Text]:
    return list(dict.fromkeys(Text(request.language, request.text) for request in requests))


def _with_cost(usage: Usage, cost: float | None) -> str:
    return str(usage) if cost is None else f"{usage}, cost {cost:,.4f}"
