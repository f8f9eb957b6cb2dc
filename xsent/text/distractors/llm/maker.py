"""Distractors by a language model: asks about each text until an answer is valid, and keeps every answer."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from tqdm import tqdm

from xsent.config_checks import check_integer, check_number, check_string
from xsent.text.distractors.llm.answers import Rules, Text, parse_distractors, unsupported_languages
from xsent.text.distractors.llm.api_key import check_address, read_key
from xsent.text.distractors.llm.budget import NO_USAGE, Prices, Spending, Usage, add_usage, with_cost
from xsent.text.distractors.llm.client import Client, NoAnswerError, Patience, max_completion_tokens, upper_bound
from xsent.text.distractors.llm.event_loop import Loop, result_of
from xsent.text.distractors.llm.ledger import Answer, Call, Ledger
from xsent.text.distractors.protocol import DistractorResult, Request

log = logging.getLogger(__name__)

# Sampling parameters, with the minimum of integers.
INTEGERS = {"max_tokens": 1, "max_completion_tokens": 1, "seed": 0}
NUMBERS = {"temperature", "top_p"}  # not negative
PLACEHOLDERS = frozenset({"count", "language", "sentence"})  # of the prompt
# Finish reasons of incomplete answers.
INCOMPLETE = {
    "length": "the answer was cut off at max_tokens",
    "content_filter": "the answer was cut off by the endpoint's filter",
}


class Outcome(NamedTuple):
    """The distractors of a text, or the reason why it has none."""

    distractors: tuple[str, ...]
    failure: str


class Totals(NamedTuple):
    """What a run sent and used, and what its ledger held before."""

    requests: int  # sent, failed ones included
    answers: int  # of this run
    lost: int  # requests of this run without a complete answer that may be billed
    lost_usage: Usage  # reported, or the upper bound
    usage: Usage  # of this run, lost requests included
    cost: float | None  # None: a price is unknown
    answers_before: int  # in the ledger, of all models
    usage_before: Usage  # of this model
    cost_before: float | None

    def __str__(self) -> str:
        now = f"{self.requests:,} requests, {self.answers:,} answers: {with_cost(self.usage, self.cost)}"
        if self.lost:
            now += f", at most: {self.lost:,} answers were lost on the way, which may have used {self.lost_usage}"
        before = f"{self.answers_before:,} answers: {with_cost(self.usage_before, self.cost_before)}"
        return f"{now}; the ledger had {before}"


class Plan(NamedTuple):
    """What a run would send."""

    texts: int  # different ones
    finished: int  # of them, by answers in the ledger; those that all attempts have failed are done too
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
        bound = with_cost(self.bound, self.bound_cost) if self.has_bound else "no bound without max_tokens"
        lines = [
            f"{self.texts:,} different texts, {self.finished:,} of them done; {self.answers:,} answers in the ledger",
            f"{self.requests:,} requests to send, about {with_cost(self.estimate, self.estimated_cost)}",
            f"at most {self.most_requests:,} requests, where answers will not do: {bound}",
        ]
        return "\n".join([*lines, "the first of them asks:", self.first_prompt] if self.first_prompt else lines)


@dataclass(kw_only=True, eq=False)
class LlmMaker:
    """Distractors as in Michail et al. 2025, from any OpenAI-compatible endpoint.

    After an invalid answer the same question is asked again. The distractors of a text thus never depend on discarded
    answers.

    Attributes:
        totals: of the last ``make``, also if it was stopped.

    Raises:
        ValueError: an option is missing or invalid.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.1 and Table 3.
    """

    count: int  # distractors of each text
    model: str | None  # name at the endpoint
    base_url: str  # of the endpoint
    key_env: str | None  # environment variable that holds its key; None: it needs none
    prompt: str  # template with ``{count}``, ``{language}`` and ``{sentence}``
    language_names: Mapping[str, str]  # by ISO 639-3 code, in the language of the prompt
    temperature: float | None  # sampling parameters; None: not sent
    top_p: float | None
    max_tokens: int | None
    seed: int | None  # of the first attempt; grows by one with each further one
    parameters: Mapping[str, Any]  # further parameters of each request
    attempts: int  # answers to ask for until one is valid
    rules: Rules  # of a valid answer
    concurrency: int  # texts in progress at a time
    patience: Patience
    prices: Prices
    # Limits on all answers of the model in the ledger, earlier runs included; None: no limit. A request that could
    # exceed one is not sent.
    limit_cost: float | None
    limit_tokens: int | None
    ledger: str | Path | None  # file of all answers; only ``plan`` needs none

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError(
                "maker.model: expected a model of the endpoint, found none; answers may cost, so there is no default."
                " The paper's was gpt-4-0613"
            )
        for name in ("model", "base_url", "prompt"):
            check_string(f"maker.{name}", getattr(self, name))
        for name in ("key_env", "ledger"):
            if not isinstance(value := getattr(self, name), Path | None):
                check_string(f"maker.{name}", value)
        if not isinstance(self.language_names, Mapping):
            raise ValueError(f"maker.language_names={self.language_names}: expected names by ISO 639-3 code")
        for code, language in self.language_names.items():
            check_string(f"maker.language_names.{code}", language)
        check_address(self.base_url)
        for name in ("count", "attempts", "concurrency"):
            check_integer(f"maker.{name}", getattr(self, name), minimum=1)
        for name, kind in (("rules", Rules), ("patience", Patience), ("prices", Prices)):
            if not isinstance(value := getattr(self, name), kind):
                raise ValueError(f"maker.{name}={value}: expected the values of {kind.__name__}")
        if not isinstance(self.parameters, Mapping):
            raise ValueError(f"maker.parameters={self.parameters}: expected names with their values")
        sampling = {name: getattr(self, name) for name in ("temperature", "top_p", "max_tokens", "seed")}
        self._parameters = {name: value for name, value in {**sampling, **self.parameters}.items() if value is not None}
        self._check_parameters()
        if self.limit_tokens is not None:
            check_integer("maker.limit_tokens", self.limit_tokens, minimum=0)
        if self.limit_cost is not None:
            check_number("maker.limit_cost", self.limit_cost)
            if self.prices.cost(NO_USAGE) is None:
                raise ValueError(
                    "maker.limit_cost: expected maker.prices of prompts and completions with it, found none"
                )
        is_limited = self.limit_cost is not None or self.limit_tokens is not None
        if is_limited and not max_completion_tokens(self._parameters):
            raise ValueError(
                "maker.max_tokens: expected a number, found none; a limit on spending needs a limit on answers"
            )
        self._unchecked: set[str] = set()  # languages that py3langid does not know
        self.totals = Totals(0, 0, 0, NO_USAGE, NO_USAGE, None, 0, NO_USAGE, None)

    def _check_parameters(self) -> None:
        for name in INTEGERS.keys() & self._parameters.keys():
            check_integer(f"maker.{name}", self._parameters[name], minimum=INTEGERS[name])
        for name in NUMBERS & self._parameters.keys():
            check_number(f"maker.{name}", self._parameters[name])
        if {"max_tokens", "max_completion_tokens"} <= self._parameters.keys():
            raise ValueError(
                "maker.parameters.max_completion_tokens: expected it alone, found max_tokens as well; set"
                " maker.max_tokens=null"
            )
        if reserved := {"model", "messages", "stream", "n"} & self._parameters.keys():
            raise ValueError(f"maker.parameters: {', '.join(sorted(reserved))} cannot be set here")

    def check(self, languages: Iterable[str]) -> None:
        """Check the languages; a warning names those whose answers are not checked for their language.

        Raises:
            ValueError: the prompt is invalid, or has no name for a language.
            ImportError: a required package is not installed.
        """
        requested = set(languages)
        _check_prompt(self.prompt, self.language_names, requested)
        if self.rules.wrong_language is not None and (new := unsupported_languages(requested) - self._unchecked):
            names = ", ".join(sorted(new))
            log.warning("py3langid does not know %s: the language of its distractors is not checked", names)
            self._unchecked |= new

    def plan(self, requests: Sequence[Request]) -> Plan:
        """What ``make`` would send; sends, writes and locks nothing, and needs no key.

        Raises:
            ValueError: as in ``check``, or a line of the ledger is malformed.
            OSError: there are questions to ask, and the ledger cannot be written.
        """
        self.check(request.language for request in requests)
        ledger = None if self.ledger is None else Ledger(Path(self.ledger), str(self.model))
        if ledger is not None:
            ledger.load()
        answers = ledger.answers if ledger else {}
        texts = _distinct_texts(requests)
        calls = {text: step for text in texts if isinstance(step := self._step(text, answers), Call)}
        if calls and ledger is not None:
            ledger.check()
        estimate = bound = NO_USAGE
        for text, call in calls.items():
            # Rule of thumb: four bytes per token, and distractors as long as their text.
            estimate = add_usage(estimate, Usage(call.size // 4, self.count * (len(text.text.encode()) // 4 + 4)))
            bound = add_usage(bound, *[upper_bound(call)] * (self.attempts + 1 - call.attempt))
        first = next(iter(calls.values()), None)
        return Plan(
            len(texts),
            len(texts) - len(calls),
            len(answers),
            len(calls),
            sum(self.attempts + 1 - call.attempt for call in calls.values()),
            estimate,
            self.prices.cost(estimate),
            bound,
            self.prices.cost(bound),
            bool(max_completion_tokens(self._parameters)),
            first.messages[-1]["content"] if first else "",
        )

    def make(self, requests: Sequence[Request], *, progress: bool) -> Iterator[DistractorResult]:
        """Yield the result of each request in order; texts with a valid answer in the ledger are not asked about again.

        An interrupted run keeps its answers; the same call continues it.

        Raises:
            ValueError: as in ``check``; there is no ledger or no key; the next request could exceed a limit; or the
                endpoint refuses such requests, or the account is empty.
            PermissionError: the endpoint refuses the key.
            ConnectionError: the endpoint cannot be reached, is something else, or does not answer any more.
            BlockingIOError: another process holds the ledger.
            OSError: the ledger cannot be written; if possible, this is raised before the first request.
        """
        self.check(request.language for request in requests)
        if self.ledger is None:
            raise ValueError("maker.ledger: expected a file for the answers, found none")
        texts = _distinct_texts(requests)
        with Ledger(Path(self.ledger), str(self.model)) as ledger:
            finished = {text: step for text in texts if isinstance(step := self._step(text, ledger.answers), Outcome)}
            in_ledger = f"{len(ledger.answers):,} answers in the ledger"
            log.info("%s different texts, %s of them done; %s", f"{len(texts):,}", f"{len(finished):,}", in_ledger)
            open_texts = [text for text in texts if text not in finished]
            with (
                self._asking(open_texts, ledger) as outcomes,
                tqdm(requests, desc="asking", unit=" texts", delay=2, disable=not progress) as bar,
            ):
                for request in bar:
                    text = Text(request.language, request.text)
                    outcome = finished[text] if text in finished else result_of(outcomes[text])
                    yield DistractorResult(request, outcome.distractors, (), outcome.failure)

    @contextmanager
    def _asking(self, texts: Sequence[Text], ledger: Ledger) -> Iterator[Mapping[Text, Future[Outcome]]]:
        """Futures of the texts' outcomes; sets ``totals`` at the end."""
        spending = Spending(ledger.usage, self.prices, self.limit_cost, self.limit_tokens)
        client, before = None, len(ledger.answers)
        try:
            if not texts:
                yield {}
                return
            ledger.check()
            client = Client(
                base_url=self.base_url,
                key=read_key(self.key_env),
                key_env=self.key_env,
                ledger=ledger,
                spending=spending,
                concurrency=self.concurrency,
                patience=self.patience,
            )
            with Loop() as loop:
                try:
                    yield {text: loop.start(self._outcome(text, client)) for text in texts}
                except (ValueError, OSError):
                    # Nothing more is sent. Requests under way will be billed, so their answers are awaited.
                    loop.run(spending.settled())
                    raise
                finally:
                    loop.cancel()
                    loop.run(client.close())
        finally:
            lost = client.lost if client else []
            self.totals = Totals(
                client.requests if client else 0,
                len(ledger.answers) - before,
                len(lost),
                add_usage(*lost),
                spending.used,
                self.prices.cost(spending.used),
                before,
                spending.before,
                self.prices.cost(spending.before),
            )

    async def _outcome(self, text: Text, client: Client) -> Outcome:
        """Ask about a text until it has an outcome."""
        while isinstance(step := self._step(text, client.ledger.answers), Call):
            try:
                await client.ask(step)
            except NoAnswerError as error:
                return Outcome((), str(error))
        return step

    def _step(self, text: Text, answers: Mapping[str, Answer]) -> Outcome | Call:
        """Outcome of a text, or the next question about it; only the answers decide, so a killed run can continue."""
        language = self.language_names[text.language]
        content = self.prompt.format(count=self.count, language=language, sentence=text.text)
        reasons = []
        for attempt in range(1, self.attempts + 1):
            parameters = dict(self._parameters)
            if "seed" in parameters:  # with the same seed, the same answer would be drawn again
                parameters["seed"] += attempt - 1
            call = Call(str(self.model), ({"role": "user", "content": content},), parameters, attempt)
            if call.key not in answers:
                return call
            answer = answers[call.key]
            try:
                if answer.finish_reason in INCOMPLETE:
                    raise ValueError(INCOMPLETE[answer.finish_reason])
                return Outcome(parse_distractors(answer.text, text, self.count, self.rules), "")
            except ValueError as error:
                reasons.append(str(error))
        return Outcome((), f"no usable answer in {self.attempts}: {'; '.join(dict.fromkeys(reasons))}")


def _distinct_texts(requests: Iterable[Request]) -> list[Text]:
    return list(dict.fromkeys(Text(request.language, request.text) for request in requests))


def _check_prompt(template: str, language_names: Mapping[str, str], languages: Iterable[str]) -> None:
    """Raise ``ValueError`` unless a template has its three placeholders and each language has a name."""
    try:
        names = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
    except ValueError as error:  # an unclosed brace
        raise ValueError(f"maker.prompt: {error}; write a literal brace twice") from None
    if names != PLACEHOLDERS:
        expected, placeholders = (" ".join(f"{{{name}}}" for name in sorted(part)) for part in (PLACEHOLDERS, names))
        raise ValueError(
            f"maker.prompt: expected {expected}, found {placeholders or 'none'}; write a literal brace twice"
        )
    if unknown := sorted(set(languages) - set(language_names)):
        raise ValueError(
            f"maker.language_names has no {', '.join(unknown)}: set the name for the prompt,"
            f" +maker.language_names.{unknown[0]}=NAME"
        )
