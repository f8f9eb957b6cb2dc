import asyncio
import email.utils
import itertools
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import ROOT
from tests.text.distractors.llm.endpoint import (
    KEY,
    Behaviour,
    Endpoint,
    Reply,
    Reset,
    Stall,
    answer_with,
    completion,
    error,
    good,
    html,
    numbered,
    partial,
    sentence_of,
)
from tests.text.distractors.llm.makers import lines_of, published
from xsent.text.distractors.llm.budget import Usage
from xsent.text.distractors.llm.ledger import Call
from xsent.text.distractors.llm.maker import LlmMaker
from xsent.text.distractors.protocol import DistractorResult, Request

Maker = Callable[..., LlmMaker]

SENTENCES = [
    "Der Minister hat den Vertrag mit dem Nachbarland unterschrieben.",
    "Am Abend spielt die Mannschaft gegen den Meister.",
    "Die Preise für Lebensmittel sind im letzten Jahr gestiegen.",
    "Viele Leute haben den neuen Bahnhof noch nicht gesehen.",
    "Die Regierung will mehr Wohnungen in den Städten bauen.",
    "Der Bus nach Hamburg fährt jede Stunde vom Rathaus ab.",
]
FRENCH = "\n".join(
    f"{number}. Le ministre a signé hier le traité avec le pays {word}."
    for number, word in enumerate(("voisin", "ennemi", "ami", "lointain"), start=1)
)


def requests(count: int = 1) -> list[Request]:
    return [Request(str(number), "deu", text) for number, text in enumerate(SENTENCES[:count], start=1)]


def run(maker: LlmMaker, count: int = 1) -> list[DistractorResult]:
    return list(maker.make(requests(count), progress=False))


def expected(sentence: str) -> tuple[str, ...]:
    return tuple(line.partition(" ")[2] for line in numbered(sentence).split("\n"))


def ledger_of(maker: LlmMaker) -> list[dict[str, object]]:
    return lines_of(Path(str(maker.ledger)))


def test_each_text_gets_its_distractors_in_the_order_of_the_requests(maker: Maker, endpoint: Endpoint) -> None:
    first = iter(range(100))

    def slower_at_first(payload: dict[str, object]) -> Behaviour:
        time.sleep(0.05 / (1 + next(first)))
        return good(payload)

    endpoint.otherwise = slower_at_first
    results = run(maker(), 6)
    assert [result.request for result in results] == requests(6)
    assert [result.distractors for result in results] == [expected(text) for text in SENTENCES]
    assert {result.failure for result in results} == {""}
    assert len(endpoint.payloads) == 6


def test_the_request_is_that_of_the_paper(maker: Maker, endpoint: Endpoint) -> None:
    run(maker())
    (payload,) = endpoint.payloads
    assert endpoint.paths == ["/v1/chat/completions"]
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"
    assert payload.keys() == {"model", "messages", "temperature", "top_p", "max_tokens"}
    assert (payload["model"], payload["temperature"], payload["top_p"]) == ("model-1", 1.0, 1.0)
    (message,) = payload["messages"]
    assert message["role"] == "user"
    assert message["content"].endswith(f"\n{SENTENCES[0]}")
    assert "German" in message["content"]
    assert "4 sentences" in message["content"]


def test_a_seed_and_other_parameters_are_sent_where_they_are_given(maker: Maker, endpoint: Endpoint) -> None:
    endpoint.script = [answer_with("nothing of use")]
    run(maker(seed=7, max_tokens=None, parameters={"max_completion_tokens": 900, "logit_bias": None}))
    first, again = endpoint.payloads
    assert (first["seed"], first["max_completion_tokens"]) == (7, 900)
    assert again == {**first, "seed": 8}  # with the first one's it could only say the same
    assert not {"max_tokens", "logit_bias"} & first.keys()


def test_two_equal_texts_are_asked_about_once(maker: Maker, endpoint: Endpoint) -> None:
    twice = [*requests(2), Request("7", "deu", SENTENCES[0])]
    results = list(maker().make(twice, progress=False))
    assert results[2].distractors == results[0].distractors
    assert sorted(endpoint.sentences) == sorted(SENTENCES[:2])


def test_no_more_texts_are_asked_about_at_a_time_than_may_be_also_beside_an_event_loop(
    maker: Maker, endpoint: Endpoint
) -> None:
    def slow(payload: dict[str, object]) -> Behaviour:
        time.sleep(0.05)
        return good(payload)

    async def beside_a_busy_event_loop() -> list[DistractorResult]:  # as in a notebook
        return run(maker(concurrency=2), 6)

    endpoint.otherwise = slow
    assert [result.failure for result in asyncio.run(beside_a_busy_event_loop())] == [""] * 6
    assert endpoint.most_at_a_time == 2


def test_a_line_of_the_ledger_tells_what_was_asked_and_answered_and_used(maker: Maker, endpoint: Endpoint) -> None:
    model = maker(base_url=endpoint.url.replace("http://", "http://someone:pass-word-123@"))
    run(model)
    (line,) = ledger_of(model)
    assert line["answer"] == numbered(SENTENCES[0])
    assert line["request"] == {
        "model": "model-1",
        "messages": endpoint.payloads[0]["messages"],
        "parameters": {"temperature": 1.0, "top_p": 1.0, "max_tokens": 2048},
        "attempt": 1,
    }
    assert line["usage"] == {"prompt_tokens": 100, "completion_tokens": 50}
    assert (line["usage_from"], line["id"], line["request_id"]) == ("endpoint", "chatcmpl-7", "req-1")
    assert (line["served_model"], line["fingerprint"], line["finish_reason"]) == ("served-model", "fp_1", "stop")
    assert line["base_url"] == endpoint.url  # without user and password
    assert len(str(line["key"])) == 64
    assert str(line["time"]).endswith("+00:00")


def test_a_second_run_sends_nothing_and_needs_no_key(
    maker: Maker, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(maker(), 3)
    monkeypatch.delenv("OPENAI_API_KEY")
    again = maker()
    assert run(again, 3) == first
    assert len(endpoint.payloads) == 3
    assert (again.totals.requests, again.totals.answers, again.totals.usage) == (0, 0, Usage(0, 0))
    assert (again.totals.answers_before, again.totals.usage_before) == (3, Usage(300, 150))


def test_an_answer_that_was_cut_off_in_the_ledger_is_asked_for_again(maker: Maker, endpoint: Endpoint) -> None:
    first = run(maker(concurrency=1), 3)
    path = Path(str(maker().ledger))
    content = path.read_bytes()
    path.write_bytes(content[:-40])
    assert run(maker(), 3) == first
    assert len(endpoint.payloads) == 4
    assert len(lines_of(path)) == 3


def test_another_model_prompt_or_parameter_is_another_question(maker: Maker, endpoint: Endpoint) -> None:
    for values in ({}, {"model": "model-2"}, {"temperature": 0.5}, {"prompt": "{count} {language}\n{sentence}"}):
        run(maker(**values))
    assert len(endpoint.payloads) == 4
    run(maker(base_url=endpoint.url + "/", concurrency=1, attempts=7))
    assert len(endpoint.payloads) == 4


PROGRAM = """
import json, sys
from xsent.run import build
from xsent.text.distractors.protocol import Request

config, rows = json.loads(sys.argv[1])
for result in build(config, "maker").make([Request(*row) for row in rows], progress=False):
    print(result.request.id, flush=True)
"""


def test_a_run_that_is_interrupted_leaves_a_ledger_with_which_it_continues(maker: Maker, endpoint: Endpoint) -> None:
    # The second request stalls; the program gets SIGINT, as by Ctrl-C, when it has the first answer.
    endpoint.script = [good, lambda payload: Stall(None)]
    model = maker(concurrency=1)
    values = {
        "model": "model-1",
        "base_url": endpoint.url,
        "concurrency": 1,
        "ledger": str(model.ledger),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps([{**published(), **values}, requests(2)])],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    deadline = time.monotonic() + 60
    while len(endpoint.payloads) < 2:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert KEY not in errors
    assert [line.get("lost") for line in ledger_of(model)] == [None, "interrupted"]
    assert [result.failure for result in run(model, 2)] == ["", ""]
    assert len(endpoint.payloads) == 3


def test_an_answer_that_cannot_be_written_stops_everything(maker: Maker, endpoint: Endpoint) -> None:
    with pytest.raises(OSError, match="No space left"):
        run(maker(ledger="/dev/full"), 6)
    assert len(endpoint.payloads) == 1


@pytest.mark.parametrize("kind", ["folder", "link to nowhere", "below a file"])
def test_a_ledger_that_cannot_be_written_is_said_before_anything_is_sent(
    maker: Maker, endpoint: Endpoint, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "there"
    if kind == "folder":
        path.mkdir()
    elif kind == "link to nowhere":
        path.symlink_to(tmp_path / "nowhere" / "ledger.jsonl")
    else:
        path.write_text("")
        path = path / "ledger.jsonl"
    for work in (run, lambda model: model.plan(requests())):
        with pytest.raises(OSError, match=str(tmp_path / "there")):
            work(maker(ledger=str(path)))
    assert not endpoint.payloads


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes to every file")
def test_a_ledger_that_is_read_only_is_said_before_anything_is_sent(maker: Maker, endpoint: Endpoint) -> None:
    run(maker())
    Path(str(maker().ledger)).chmod(0o400)
    for work in (lambda: run(maker(), 2), lambda: maker().plan(requests(2))):
        with pytest.raises(PermissionError):
            work()
    assert len(endpoint.payloads) == 1
    assert len(run(maker())) == 1  # nothing is to be written


def test_two_runs_do_not_share_a_ledger_at_a_time(maker: Maker) -> None:
    running = maker().make(requests(2), progress=False)
    next(running)
    with pytest.raises(BlockingIOError, match="another process"):
        run(maker(), 1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("1. Nur einer hat den Vertrag mit dem Nachbarland gesehen.", "expected 4 distractors, found 1"),
        (FRENCH, "a distractor is in fra, not in deu"),
        (numbered(SENTENCES[0]).replace("nicht", ""), "a distractor equals the text"),
        (numbered(SENTENCES[0]).replace("nicht", "HEUTE"), "two distractors are equal"),
        ("I cannot help with that.", "expected numbered or quoted lines, or a list in JSON, found something else"),
    ],
)
def test_an_answer_that_will_not_do_is_asked_for_again(
    maker: Maker, endpoint: Endpoint, answer: str, reason: str
) -> None:
    endpoint.script = [answer_with(answer)]
    model = maker()
    (result,) = run(model)
    assert result.distractors == expected(SENTENCES[0])
    assert [line["request"]["attempt"] for line in ledger_of(model)] == [1, 2]  # type: ignore[index]
    endpoint.otherwise = answer_with(answer)
    (failed,) = run(maker(model="model-2"))
    assert failed.distractors == ()
    assert failed.failure == f"no usable answer in 3: {reason}"
    assert len(endpoint.payloads) == 5
    assert run(maker(model="model-2")) == [failed]
    assert len(endpoint.payloads) == 5


def test_a_fenced_list_in_json_will_do_and_an_answer_without_an_end_will_not(maker: Maker, endpoint: Endpoint) -> None:
    endpoint.script = [answer_with(f"```json\n{json.dumps(expected(SENTENCES[0]))}\n```")]
    endpoint.otherwise = answer_with(numbered(SENTENCES[0]), finish_reason="length")
    assert run(maker())[0].distractors == expected(SENTENCES[0])
    (result,) = run(maker(attempts=2, model="model-2"))
    assert result.failure == "no usable answer in 2: the answer was cut off at max_tokens"


PASSING = {
    "429 with seconds": error(429, Retry_After="0"),
    "429 with a date": error(429, Retry_After=email.utils.format_datetime(email.utils.localtime())),
    "429 without": error(429),
    "500": error(500),
    "503 page": lambda payload: Reply("<html>busy</html>", 503, kind="text/html"),
    "408": error(408),
    "409": error(409),
    "425": error(425),
    "reset": lambda payload: Reset(),
    "page": html,
    "partial": partial,
    "no choices": lambda payload: Reply("{}"),
    "error with 200": lambda payload: Reply('{"error": {"message": "busy"}}'),
    "not utf-8": lambda payload: Reply(b"\xff\xfe"),
    "null": lambda payload: Reply("null"),
    "deep": lambda payload: Reply("[" * 100_000),
}


@pytest.mark.parametrize("name", PASSING)
def test_an_error_that_may_pass_is_tried_again(maker: Maker, endpoint: Endpoint, name: str) -> None:
    endpoint.script = [PASSING[name]]
    (result,) = run(maker())
    assert result.distractors == expected(SENTENCES[0])
    assert len(endpoint.payloads) == 2


@pytest.mark.parametrize("name", PASSING)
def test_an_error_that_stays_costs_so_many_tries_and_the_other_texts_go_on(
    maker: Maker, endpoint: Endpoint, name: str
) -> None:
    def broken_for_one(payload: dict[str, object]) -> Behaviour:
        behaviour = PASSING[name] if sentence_of(payload) == SENTENCES[1] else good
        return behaviour(payload)

    endpoint.otherwise = broken_for_one
    model = maker()
    results = run(model, 3)
    assert [bool(result.distractors) for result in results] == [True, False, True]
    assert results[1].failure.startswith("no answer in 3 tries, the last: ")
    assert endpoint.sentences.count(SENTENCES[1]) == 3
    assert len(endpoint.payloads) == 5
    endpoint.otherwise = good  # a text without an answer is asked about again by the next run
    assert run(model, 3)[1].distractors == expected(SENTENCES[1])
    assert len(endpoint.payloads) == 6


@pytest.mark.parametrize("seconds", [None, 0.02])
def test_a_stalled_answer_is_given_up_in_time_even_when_bytes_trickle(
    maker: Maker, endpoint: Endpoint, seconds: float | None
) -> None:
    endpoint.script = [lambda payload: Stall(seconds)]
    model = maker(patience={"timeout": 1.5})
    start = time.perf_counter()
    (result,) = run(model)
    assert result.distractors == expected(SENTENCES[0])
    assert time.perf_counter() - start < 30  # and not for ever
    assert [line.get("lost") for line in ledger_of(model)] == ["no whole answer within 1.5 s", None]


def test_an_endpoint_that_stops_answering_stops_the_run(maker: Maker, endpoint: Endpoint) -> None:
    endpoint.script = [good]
    endpoint.otherwise = error(500)
    model = maker(concurrency=1)
    with pytest.raises(ConnectionError, match=r"3 tries.*500.*keeps 1 answers, the same command continues") as at:
        run(model, 6)
    assert len(endpoint.payloads) == 1 + 2 * 3
    assert KEY not in str(at.value)
    assert model.totals.requests == 7
    endpoint.otherwise = good
    assert [result.failure for result in run(model, 6)] == [""] * 6


FATAL = {
    "400": (
        error(400, "bad"),
        ValueError,
        r"answered 400 \(bad\): it does not take such requests, or not the first one, of \d+ bytes$",
    ),
    "401": (error(401, f"Incorrect API key provided: {KEY}."), PermissionError, r"401 \(Incorrect.*OPENAI_API_KEY"),
    "401 raw": (lambda payload: Reply(f"who is {KEY}?", 401), PermissionError, r"who is \*\*\*\?"),
    "403": (error(403), PermissionError, "may not use model-1"),
    "404": (error(404, "The model does not exist"), ValueError, "found model model-1"),
    "405": (lambda payload: Reply("", 405), ValueError, "405"),
    "422": (error(422), ValueError, "422"),
    "quota": (error(429, "You exceeded", "insufficient_quota", Retry_After="1"), ValueError, "insufficient_quota"),
}


@pytest.mark.parametrize("name", FATAL)
def test_what_is_wrong_for_all_requests_is_sent_once(maker: Maker, endpoint: Endpoint, name: str) -> None:
    endpoint.otherwise, kind, message = FATAL[name]
    with pytest.raises(kind, match=message) as error:
        run(maker(), 6)
    assert len(endpoint.payloads) == 1
    assert KEY not in str(error.value)
    assert KEY not in repr(error.value.__context__)
    assert len(str(error.value)) < 600


def test_a_key_that_is_refused_later_stops_the_run_and_keeps_what_is_under_way(
    maker: Maker, endpoint: Endpoint
) -> None:
    other_has_come = threading.Event()

    def refused_while_another_answers(payload: dict[str, object]) -> Behaviour:
        if sentence_of(payload) == SENTENCES[1]:
            assert other_has_come.wait(60)
            return error(401)(payload)
        if sentence_of(payload) == SENTENCES[2]:
            other_has_come.set()
            time.sleep(0.3)  # until after the refusal
        return good(payload)

    endpoint.otherwise = refused_while_another_answers
    model = maker(concurrency=2)
    with pytest.raises(PermissionError, match="401"):
        run(model, 6)
    assert len(endpoint.payloads) == 3
    assert [line["answer"] for line in ledger_of(model)] == [numbered(SENTENCES[0]), numbered(SENTENCES[2])]


def test_a_text_that_the_endpoint_refuses_does_not_stop_the_others(maker: Maker, endpoint: Endpoint) -> None:
    endpoint.script = [error(400, "filtered", "content_filter")]
    results = run(maker(concurrency=1), 2)
    assert results[0].failure == "the endpoint refused it: answered 400 (filtered)"
    assert results[1].distractors == expected(SENTENCES[1])
    assert len(endpoint.payloads) == 2


REFUSALS = {
    "as OpenAI": error(400, "too long"),
    "as vLLM": lambda payload: Reply(
        json.dumps({"object": "error", "message": "too long", "type": "BadRequestError", "code": 400}), 400
    ),
    "413": lambda payload: Reply("<html>too long</html>", 413, kind="text/html"),
    "422": error(422, "too long"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_text_that_alone_is_not_taken_does_not_stop_the_others(maker: Maker, endpoint: Endpoint, name: str) -> None:
    def too_long_for_one(payload: dict[str, object]) -> Behaviour:
        return REFUSALS[name](payload) if sentence_of(payload) == SENTENCES[1] else good(payload)

    endpoint.otherwise = too_long_for_one
    model = maker(concurrency=1)
    results = run(model, 3)
    assert [bool(result.distractors) for result in results] == [True, False, True]
    assert results[1].failure.startswith("the endpoint refused it: answered 4")
    assert "too long" in results[1].failure
    assert len(endpoint.payloads) == 3  # the same words would be refused again
    # The next run begins with that text; its ledger says that the endpoint takes others.
    assert [bool(result.distractors) for result in run(model, 4)] == [True, False, True, True]
    assert len(endpoint.payloads) == 5


def test_texts_in_a_row_that_are_not_taken_stop_the_run(maker: Maker, endpoint: Endpoint) -> None:
    endpoint.script = [good]
    endpoint.otherwise = error(400, "bad")
    with pytest.raises(ValueError, match=r"400 \(bad\): 2 texts in a row have no answer; a higher .*give_up_after"):
        run(maker(concurrency=1), 6)
    assert len(endpoint.payloads) == 3
    endpoint.otherwise = lambda payload: (
        error(400, "bad")(payload) if sentence_of(payload) in SENTENCES[:3] else good(payload)
    )
    assert [bool(result.distractors) for result in run(maker(patience={"give_up_after": 3}), 6)] == [
        True,
        False,
        False,
        *[True] * 3,
    ]


def test_an_endpoint_that_is_not_there_is_said_at_once(maker: Maker) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}/v1", "http://nowhere.invalid/v1"):
        with pytest.raises(ConnectionError, match=rf"{url}: cannot be reached.*base_url"):
            run(maker(base_url=url))


def test_a_missing_key_is_said_before_any_request_unless_the_endpoint_needs_none(
    maker: Maker, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ValueError, match=r"OPENAI_API_KEY is not set.*maker\.key_env=null"):
        run(maker())
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_KEY", "two words of a secret")
    with pytest.raises(ValueError, match=r"MY_KEY: expected a key of visible ASCII characters, found others$"):
        run(maker(key_env="MY_KEY"))
    assert not endpoint.payloads
    assert run(maker(key_env=None))[0].distractors
    assert all(KEY not in value for value in endpoint.headers[0].values())


def test_an_answer_that_repeats_the_key_is_kept_without_it(maker: Maker, endpoint: Endpoint) -> None:
    endpoint.script = [good, answer_with(f"Your key is {KEY}"), lambda payload: Reply(f'{{"choices": "{KEY}')]
    model = maker(concurrency=1, patience={"tries": 2})
    run(model, 2)
    assert [line.get("answer", line.get("body")) for line in ledger_of(model)][1:3] == [
        "Your key is ***",
        '{"choices": "***',
    ]


def test_libraries_log_no_requests(maker: Maker, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("httpx").setLevel(logging.DEBUG)
    run(maker())
    assert not [record for record in caplog.records if record.name.partition(".")[0] in ("httpx", "httpx2", "openai")]
    assert KEY not in repr(vars(maker()))


PRICES = {"_target_": "xsent.text.distractors.llm.budget.Prices", "prompt": 10.0, "completion": 40.0}


def test_tokens_and_their_cost_are_counted(maker: Maker) -> None:
    model = maker(prices=PRICES)
    run(model, 3)
    # 3 answers of 100 and 50 tokens: 300 x 10 and 150 x 40 in millions.
    assert model.totals.usage == Usage(300, 150)
    assert model.totals.cost == pytest.approx(0.003 + 0.006)
    assert str(model.totals) == (
        "3 requests, 3 answers: 300 tokens of prompts and 150 of answers, cost 0.0090;"
        " the ledger had 0 answers: 0 tokens of prompts and 0 of answers, cost 0.0000"
    )


def test_an_endpoint_that_does_not_count_is_taken_to_have_used_the_most(maker: Maker, endpoint: Endpoint) -> None:
    endpoint.otherwise = lambda payload: completion(numbered(sentence_of(payload)), usage=None)
    model = maker()
    run(model)
    prompt = endpoint.payloads[0]["messages"][0]["content"]
    assert model.totals.usage == Usage(len(prompt.encode()) + len("user") + 128, 2048)
    assert ledger_of(model)[0]["usage_from"] == "bound"


def test_no_request_is_sent_that_could_exceed_the_limit(maker: Maker, endpoint: Endpoint) -> None:
    # A request uses 150 tokens, so the fourth fits beside three answers and the fifth does not beside four.
    bounds = [maker(attempts=1).plan([request]).bound.total for request in requests(6)]
    assert max(bounds) - min(bounds) < 150
    limit = max(bounds) + 3 * 150
    with pytest.raises(ValueError, match=rf"stopped at maker\.limit_tokens={limit}.*with a higher limit the same comm"):
        run(maker(limit_tokens=limit), 6)
    assert len(endpoint.payloads) == 4
    with pytest.raises(ValueError, match="stopped at"):
        run(maker(limit_tokens=limit), 6)
    assert len(endpoint.payloads) == 4
    assert len(run(maker(limit_tokens=None), 6)) == 6
    assert len(endpoint.payloads) == 6


def test_a_limit_of_cost_counts_what_is_under_way(maker: Maker, endpoint: Endpoint) -> None:
    # A request may cost 2,048 x 40 / 1,000,000 = 0.08 and its prompt, and costs 0.003.
    with pytest.raises(ValueError, match=r"stopped at maker\.limit_cost=0\.05"):
        run(maker(prices=PRICES, limit_cost=0.05), 6)
    assert not endpoint.payloads
    run(maker(prices=PRICES, limit_cost=0.15, concurrency=4), 6)
    assert endpoint.most_at_a_time == 1  # two at a time could cost 0.16
    assert len(endpoint.payloads) == 6


def test_an_answer_that_was_lost_counts_as_spent(maker: Maker, endpoint: Endpoint) -> None:
    endpoint.script = [good, partial]
    model = maker(concurrency=1, limit_tokens=6_000)
    run(model, 2)
    lost = ledger_of(model)[1]
    assert str(lost["lost"]).startswith("expected the JSON of a chat completion")
    usage = lost["usage"]
    assert model.totals.usage == Usage(200 + usage["prompt_tokens"], 100 + 2_048)  # type: ignore[index]
    assert (model.totals.requests, model.totals.answers, model.totals.lost) == (3, 2, 1)
    assert "at most: 1 answers were lost on the way, which may have used" in str(model.totals)


COUNTED = {"prompt_tokens": 70, "completion_tokens": 30}


@pytest.mark.parametrize("status", [200, 500])
def test_tokens_of_what_is_no_answer_count_where_the_endpoint_says_so(
    maker: Maker, endpoint: Endpoint, status: int
) -> None:
    endpoint.script = [good, lambda payload: Reply(json.dumps({"choices": [], "usage": COUNTED}), status)]
    model = maker(concurrency=1)
    run(model, 2)
    assert model.totals.usage == Usage(200 + 70, 100 + 30)
    assert (model.totals.lost, model.totals.lost_usage) == (1, Usage(70, 30))
    line = ledger_of(model)[1]
    assert (line["usage"], line["usage_from"]) == (COUNTED, "endpoint")
    again = maker()
    run(again, 2)
    assert again.totals.usage_before == Usage(270, 130)


@pytest.mark.parametrize("status", [408, 504, 524])
def test_an_answer_that_was_not_waited_for_may_be_on_the_bill(maker: Maker, endpoint: Endpoint, status: int) -> None:
    endpoint.script = [error(status, "gone")]
    model = maker()
    run(model)
    assert ledger_of(model)[0]["lost"] == f"answered {status} (gone)"
    assert ledger_of(model)[0]["usage_from"] == "bound"
    assert model.totals.usage.completion == 50 + 2_048


def test_a_dry_run_sends_and_writes_nothing_and_needs_no_key(
    maker: Maker, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(maker(), 2)
    before = sorted(tmp_path.rglob("*")), Path(str(maker().ledger)).read_bytes()
    monkeypatch.delenv("OPENAI_API_KEY")
    plan = maker(prices=PRICES).plan([*requests(6), *requests(6)])
    assert (sorted(tmp_path.rglob("*")), Path(str(maker().ledger)).read_bytes()) == before
    assert len(endpoint.payloads) == 2
    assert plan[:5] == (6, 2, 2, 4, 12)
    assert plan.bound.completion == 12 * 2_048
    assert plan.bound_cost == pytest.approx((plan.bound.prompt * 10 + plan.bound.completion * 40) / 1e6)
    assert plan.estimate.total < plan.bound.total
    assert plan.first_prompt.endswith(SENTENCES[2])
    assert "4 requests to send" in str(plan)
    assert str(plan).endswith(SENTENCES[2])


def test_a_dry_run_needs_no_ledger_bounds_the_prompt_and_says_when_there_is_nothing_to_do(
    maker: Maker, endpoint: Endpoint
) -> None:
    plan = maker(attempts=1, ledger=None).plan(requests(2))
    assert plan.requests == 2
    with pytest.raises(ValueError, match=r"maker\.ledger"):
        run(maker(ledger=None))
    run(maker(), 2)
    prompts = [payload["messages"][0]["content"] for payload in endpoint.payloads]
    assert plan.bound.prompt >= sum(len(json.dumps(prompt, ensure_ascii=False).encode()) for prompt in prompts)
    plan = maker().plan(requests(2))
    assert plan[:5] == (2, 2, 2, 0, 0)
    assert plan.first_prompt == ""
    assert plan.bound == Usage(0, 0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": None}, r"maker\.model: expected a model of the endpoint.*gpt-4-0613"),
        ({"base_url": "localhost:8000"}, r"maker\.base_url=.*expected http\(s\)://HOST/PATH"),
        ({"base_url": "ftp://host/v1"}, "expected http"),
        ({"base_url": "http://someone:hunter2@host/v1?key=1"}, r"base_url=http://host/v1: .*without a query"),
        ({"base_url": "http://host:port/v1"}, "expected http"),
        ({"base_url": "https://"}, "expected http"),
        ({"attempts": 0}, r"maker\.attempts=0: expected an integer of at least 1"),
        ({"concurrency": 0}, "concurrency"),
        ({"patience": {"tries": 0}}, r"maker\.patience\.tries=0"),
        ({"patience": {"timeout": 0}}, r"maker\.patience\.timeout=0"),
        ({"prompt": "Say {count} things about {sentence}"}, r"expected \{count\} \{language\} \{sentence\}, found"),
        ({"prompt": "{count} {language} {sentence"}, r"maker\.prompt"),
        ({"language_names": {"eng": "English"}}, r"maker\.language_names has no deu.*\+maker\.language_names\.deu="),
        ({"limit_cost": 1.0}, r"maker\.limit_cost: expected maker\.prices"),
        ({"limit_tokens": 1_000, "max_tokens": None}, r"maker\.max_tokens: expected a number"),
        ({"limit_cost": float("inf"), "prices": PRICES}, r"maker\.limit_cost=inf: expected a number of at least 0"),
        ({"limit_cost": -1.0, "prices": PRICES}, r"maker\.limit_cost=-1\.0: expected"),
        ({"limit_tokens": 1.5}, r"maker\.limit_tokens=1\.5: expected an integer of at least 0"),
        ({"limit_tokens": "many"}, r"maker\.limit_tokens=many: expected an integer"),
        ({"prices": PRICES | {"completion": float("inf")}}, r"maker\.prices\.completion=inf: expected a number"),
        ({"parameters": {"max_completion_tokens": 4096}}, r"max_completion_tokens: expected it alone.*max_tokens=null"),
        ({"attempts": "three"}, r"maker\.attempts=three: expected an integer"),
        ({"count": "two"}, r"maker\.count=two: expected an integer"),
        ({"max_tokens": "all"}, r"maker\.max_tokens=all: expected an integer"),
        ({"seed": 1.5}, r"maker\.seed=1\.5: expected an integer"),
        ({"temperature": "hot"}, r"maker\.temperature=hot: expected a number"),
        ({"patience": {"tries": "some"}}, r"maker\.patience\.tries=some: expected an integer"),
        ({"patience": {"timeout": float("nan")}}, r"maker\.patience\.timeout=nan: expected a number"),
        ({"model": 4}, r"maker\.model=4: expected a string, found int"),
        ({"key_env": 4}, r"maker\.key_env=4: expected a string"),
        ({"parameters": {"stream": True}}, r"maker\.parameters: stream cannot be set"),
    ],
)
def test_an_option_that_makes_no_sense_is_said_before_anything_is_sent(
    maker: Maker, endpoint: Endpoint, values: dict[str, object], message: str
) -> None:
    for work in (lambda model: model.check(["deu"]), run, lambda model: model.plan(requests())):
        with pytest.raises(ValueError, match=message):
            work(maker(**values))
    assert not endpoint.payloads


def test_a_package_that_is_missing_is_said_with_how_to_get_it(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ImportError, match=r"pip install 'xsent\[llm\]'"):
        run(maker())


def test_a_language_that_cannot_be_told_is_said_once(
    maker: Maker, endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.otherwise = answer_with(FRENCH)
    model = maker(language_names={"szl": "Silesian", "deu": "German"})
    (result,) = model.make(
        [Request("1", "szl", "Dej pozōr na te małe kocisko, co sam siedzi na dachu.")], progress=False
    )
    assert len(result.distractors) == 4
    model.check(["szl", "deu"])
    assert sum("py3langid does not know szl:" in record.message for record in caplog.records) == 1


def test_a_ledger_of_something_else_is_named_with_its_line(maker: Maker, tmp_path: Path) -> None:
    for content in ('{"a": 1}\n', '{"key": "k", "usage": {}}\n', "nothing\n"):
        (tmp_path / "ledger.jsonl").write_text(content)
        with pytest.raises(ValueError, match=r"ledger\.jsonl:1: expected"):
            run(maker())


def test_the_keys_of_questions_differ() -> None:
    parts = itertools.product("ab", "ab", (0.5, 1.0), (1, 2))
    calls = [
        Call(model, ({"content": prompt},), {"temperature": heat}, attempt) for model, prompt, heat, attempt in parts
    ]
    assert len({call.key for call in calls}) == 16
