import socket
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.helpers import ROOT
from xsent.text.annotation.annotator import Annotation, StanzaAnnotator

PROCESSORS = "tokenize,pos,lemma,depparse"
stanza = pytest.importorskip("stanza", reason="pip install 'xsent[divergence]'")

SENTENCES = [("Cats", "sleep", "."), ("Run",), ("She", "saw", "it")]
TREES: dict[tuple[str, ...], list[tuple[str, int]]] = {  # tag and head of each word, counted from 1 as Stanza does
    SENTENCES[0]: [("NNS", 2), ("VBP", 0), (".", 2)],
    SENTENCES[1]: [("VB", 0)],
    SENTENCES[2]: [("PRP", 2), ("VBD", 0), ("PRP", 2)],
}


class Pipeline:
    """Gives back what Stanza would: a real document, annotated by hand."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Any:
        self.batches.append(len(sentences))
        return document(sentences)


def document(sentences: Sequence[Sequence[str]], **changed: object) -> Any:
    from stanza.models.common.doc import Document

    def word(number: int, text: str, tag: str, head: int) -> dict[str, object]:
        return {"id": (number,), "text": text, "xpos": tag, "head": head, "deprel": "dep"} | changed

    rows = [
        [word(n, text, *values) for n, (text, values) in enumerate(zip(words, TREES[tuple(words)], strict=True), 1)]
        for words in sentences
    ]
    return Document(rows, " ".join(" ".join(words) for words in sentences))


def annotator(pipeline: Any, *, parse: bool = True, tags: str = "treebank", batch_size: int = 2) -> StanzaAnnotator:
    return StanzaAnnotator(pipeline, parse=parse, tags=tags, batch_size=batch_size, version="by hand")


def test_heads_are_counted_from_0_and_the_root_has_none() -> None:
    assert annotator(Pipeline()).annotate(SENTENCES, progress=False) == [
        Annotation(("NNS", "VBP", "."), (1, -1, 1)),
        Annotation(("VB",), (-1,)),
        Annotation(("PRP", "VBD", "PRP"), (1, -1, 1)),
    ]


@pytest.mark.parametrize(("batch_size", "batches"), [(1, [1, 1, 1]), (2, [2, 1]), (9, [3])])
def test_sentences_are_given_in_batches_and_come_back_in_order(batch_size: int, batches: list[int]) -> None:
    pipeline = Pipeline()
    annotations = annotator(pipeline, batch_size=batch_size).annotate(SENTENCES, progress=False)
    assert pipeline.batches == batches
    assert [len(annotation.tags) for annotation in annotations] == [3, 1, 3]
    assert annotator(pipeline).annotate([], progress=False) == []
    assert pipeline.batches == batches  # no call without sentences


@pytest.mark.parametrize(
    ("tags", "changed", "message"),
    [
        ("treebank", {"text": "dogs"}, "expected the words 'Cats sleep .', found 'dogs dogs dogs'"),
        ("treebank", {"xpos": None}, "expected a tag for each word, found none for 'Cats' in 'Cats sleep .'"),
        ("treebank", {"head": None}, "expected a head for each word, found none for 'Cats' in 'Cats sleep .'"),
        ("universal", {}, "expected a tag for each word, found none for 'Cats'"),  # the treebank's is no universal one
    ],
)
def test_annotation_that_does_not_fit_the_words_is_an_error(tags: str, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        annotator(lambda words: document(words, **changed), tags=tags).annotate(SENTENCES[:1], progress=False)


def test_without_parse_there_are_no_heads_and_universal_tags_replace_missing_ones() -> None:
    tagger = annotator(lambda sentences: document(sentences, xpos=None, upos="NOUN", head=None), parse=False)
    assert tagger.annotate(SENTENCES[:1], progress=False) == [Annotation(("NOUN", "NOUN", "NOUN"), ())]


@pytest.mark.parametrize(("tags", "expected"), [("treebank", "NNS"), ("universal", "NOUN")])
def test_tags_are_those_of_the_treebank_or_universal(tags: str, expected: str) -> None:
    tagger = annotator(lambda sentences: document(sentences, upos="NOUN"), tags=tags)
    assert tagger.annotate(SENTENCES[:1], progress=False)[0].tags[0] == expected


def test_a_pipeline_that_joins_sentences_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 2 sentences, found 1"):
        annotator(lambda sentences: document(sentences[:1])).annotate(SENTENCES[:2], progress=False)


def test_batch_and_models_decide_the_digest() -> None:
    digest = annotator(Pipeline()).digest()
    assert annotator(Pipeline()).digest() == digest
    assert annotator(Pipeline(), batch_size=3).digest() != digest
    assert annotator(Pipeline(), tags="universal").digest() != digest
    assert StanzaAnnotator(Pipeline(), parse=True, tags="treebank", batch_size=2, version="others").digest() != digest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tags": "penn"}, r"annotator\.tags=penn: expected one of treebank, universal"),
        ({"batch_size": 0}, r"annotator\.batch_size=0: expected an integer of at least 1"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        annotator(Pipeline(), **options)


def load(folder: Path, *, download: bool) -> StanzaAnnotator:
    options = {"parse": True, "tags": "treebank", "package": "default", "device": "cpu", "batch_size": 8}
    return StanzaAnnotator.load(language="eng", models=str(folder), download=download, **options)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Refuses every connection; returns those that were tried."""
    tried: list[object] = []

    def refuse(*address: object, **_: object) -> None:
        tried.append(address)
        raise OSError("no network in tests")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return tried


def test_missing_models_are_reported_with_instructions_and_without_a_connection(
    tmp_path: Path, no_network: list[object]
) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        load(tmp_path, download=False)
    message = str(caught.value)
    assert f"no Stanza models for en (package default) in {tmp_path}" in message
    assert (
        "; --set annotator.download=true, or evaluator.swaps.tagger.download=true, downloads them once. Offline: run"
        in message
    )
    assert f"stanza.download('en', '{tmp_path}', 'default', '{PROCESSORS}')" in message
    assert "resources.json, en/pos, en/lemma, en/depparse and what else" in message
    assert "models=FOLDER of the annotator" in message
    assert no_network == []
    assert not list(tmp_path.iterdir())


def test_no_config_downloads_models_by_default() -> None:
    config = yaml.safe_load((ROOT / "conf/job/diverge.yaml").read_text(encoding="utf-8"))
    assert config["annotator"]["download"] is False
    assert config["target_annotator"]["download"] == "${annotator.download}"
    config = yaml.safe_load((ROOT / "conf/evaluator/clsd_swaps.yaml").read_text(encoding="utf-8"))
    assert config["evaluator"]["swaps"]["tagger"]["download"] is False


def test_listed_but_missing_models_are_reported(tmp_path: Path, no_network: list[object]) -> None:
    # The smallest index that Stanza reads: one package, whose files are nowhere.
    processors = PROCESSORS.split(",")
    files = ", ".join(f'"{name}": {{"ewt": {{"md5": ""}}}}' for name in processors)
    package = ", ".join(f'"{name}": "ewt"' for name in processors)
    index = f'{{"en": {{{files}, "packages": {{"default": {{{package}}}}}}}}}'
    (tmp_path / "resources.json").write_text(index, encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"no Stanza models for en .* Stanza: .*pos/ewt\.pt"):
        load(tmp_path, download=False)
    assert no_network == []


def test_local_models_need_no_connection_and_missing_ones_are_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    none, fetch = stanza.DownloadMethod.NONE, stanza.DownloadMethod.REUSE_RESOURCES
    tried: list[Any] = []

    def pipeline(download_method: Any, **_: object) -> Any:
        tried.append(download_method)
        if is_missing and download_method is none:
            raise FileNotFoundError("no resources.json")
        return SimpleNamespace(config={})

    monkeypatch.setattr(stanza, "Pipeline", pipeline)
    caplog.set_level("INFO")
    is_missing = False
    load(tmp_path, download=True)
    assert (tried, caplog.messages) == ([none], [])
    is_missing = True
    load(tmp_path, download=True)
    assert tried == [none, none, fetch]
    assert (
        f"downloading Stanza's models for en (package default: tokenize,pos,lemma,depparse) to {tmp_path}"
        in caplog.text
    )


def test_a_failed_download_says_so(tmp_path: Path, no_network: list[object]) -> None:
    with pytest.raises(FileNotFoundError, match=r"and the download failed\. Offline: run"):
        load(tmp_path, download=True)
    assert no_network
