"""CharacterBERT: the published ids, a plain implementation of the paper, and the published file words."""

import json
import logging
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor
from transformers import BertConfig, BertModel
from transformers.models.bert.tokenization_bert_legacy import BasicTokenizer

from xsent.models.encoders.characters import character_cnn
from xsent.models.encoders.characters.character_bert import CLS, SEP, CharacterBertEncoder
from xsent.models.encoders.characters.character_cnn import PADDING, CharacterCnn, split_words, word_ids
from xsent.models.freezing import freeze, frozen_names
from xsent.models.gradient_cache import embed_chunked

SENTENCES = [
    "l0V3 this , luv .",
    "a",
    "été 🙂 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx!",
    "this this and this",
]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
CONFIG = SIZES | {"max_position_embeddings": 40, "type_vocab_size": 2, "layer_norm_eps": 1e-12}
CNN = "embeddings.word_embeddings."
PUBLISHED_FILTERS = character_cnn.FILTERS
FILTERS = tuple((width, max(1, number // 32)) for width, number in PUBLISHED_FILTERS)  # fewer: the tests are faster


@pytest.fixture(scope="module", autouse=True)
def _small_network() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(character_cnn, "FILTERS", FILTERS)
        yield


def published_weights(filters: tuple[tuple[int, int], ...] = FILTERS) -> dict[str, Tensor]:
    """Random weights under the names of the release, large enough to separate sentences."""
    generator = torch.Generator().manual_seed(0)
    dim, total = 16, sum(number for _, number in filters)
    shapes: dict[str, tuple[int, ...]] = {f"{CNN}_char_embedding_weights": (263, 16)}
    for i, (width, number) in enumerate(filters):
        shapes |= {f"{CNN}char_conv_{i}.weight": (number, 16, width), f"{CNN}char_conv_{i}.bias": (number,)}
    for i in range(2):
        shapes |= {f"{CNN}_highways._layers.{i}.weight": (2 * total, total)}
        shapes |= {f"{CNN}_highways._layers.{i}.bias": (2 * total,)}
    shapes |= {f"{CNN}_projection.weight": (dim, total), f"{CNN}_projection.bias": (dim,)}
    bert = BertModel(BertConfig(vocab_size=1, **CONFIG)).state_dict()
    shapes |= {name: tuple(value.shape) for name, value in bert.items() if not name.startswith(CNN[:-1])}
    weights = {}
    for name, shape in shapes.items():
        random = torch.randn(shape, generator=generator)
        weights[name] = 0.1 * random if len(shape) == 1 else 2 * math.prod(shape[1:]) ** -0.5 * random
        if name.endswith("LayerNorm.weight"):
            weights[name] += 1
    return weights


def write(folder: Path, weights: dict[str, Tensor], config: dict[str, Any] = CONFIG) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "character_bert", **config}))
    torch.save(weights, folder / "pytorch_model.bin")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("character_bert") / "plain", published_weights())


def load(folder: Path, **options: Any) -> CharacterBertEncoder:
    plain: dict[str, Any] = {"name": "character-bert", "path": str(folder), "revision": None, "lowercase": False}
    plain |= {"pooling": "mean", "projection": None, "max_length": 40, "normalize": False}
    return CharacterBertEncoder.load(**plain | options)


# ---- words and their ids


def test_ids_of_words_are_the_published_ones(fixtures_dir: Path) -> None:
    fixture = json.loads((fixtures_dir / "rolaser.json").read_text())["character_ids"]
    special = {"[CLS]": CLS, "[SEP]": SEP}
    not_in_sentences = {"[PAD]", "[MASK]"}
    assert fixture["words"].keys() > not_in_sentences
    for word, expected in fixture["words"].items():
        if word not in not_in_sentences:
            ids = special.get(word) or word_ids(word)
            assert ids == expected["non_padding_prefix"]
            assert fixture["max_len"] - len(ids) == expected["n_padding"]


def test_a_sentence_is_the_concatenation_of_its_words_without_padding(folder: Path) -> None:
    (ids,) = load(folder).tokenize(["luv, é"])
    assert ids == [259, 257, 260, 259, 109, 118, 119, 260, 259, 45, 260, 259, 196, 170, 260, 259, 258, 260]


@pytest.mark.parametrize("lowercase", [False, True])
def test_words_are_those_of_berts_basic_tokenizer(folder: Path, lowercase: bool) -> None:
    text = "Don't stop-me\tnow!! [CLS] Éa\u0301\u00ad 中文字 x\u200by\u2028z … 🙂ok €5.00 \x07 #Tag"
    expected = BasicTokenizer(do_lower_case=lowercase, never_split=[]).tokenize(text)
    (ids,) = load(folder, lowercase=lowercase).tokenize([text])
    assert ids == CLS + [id_ for word in expected for id_ in word_ids(word)] + SEP


def test_a_sentence_is_truncated_after_max_length_words(folder: Path) -> None:
    encoder = load(folder, max_length=5)
    many, exactly = encoder.tokenize(["word " * 10_000, "word word word"])
    assert many == exactly == CLS + 3 * word_ids("word") + SEP
    assert encoder.encode(["word " * 10_000]).isfinite().all()


def test_text_without_words_has_the_zero_vector_and_a_single_character_does_not(folder: Path) -> None:
    encoder = load(folder)
    lengths = encoder.encode(["", " \n", "\u200b", "a", "🙂", "!"]).norm(dim=1)
    assert encoder.empty_sentences == 3
    assert (lengths[:3] == 0).all()
    assert (lengths[3:] > 0).all()


def test_ids_are_split_at_word_marks_and_each_distinct_word_appears_once() -> None:
    a, bc = word_ids("a"), word_ids("bc")
    words = split_words(torch.tensor(a + bc + a + bc), torch.tensor([0, 10, 4, 0]))
    padding = [PADDING] * 7  # the width of the widest convolution
    assert words.distinct.tolist() == [[*a, PADDING, *padding], bc + padding]
    assert words.rows.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert words.mask.tolist() == [[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 0, 0]]


# ---- vectors


def plain_word_vector(weights: dict[str, Tensor], word: list[int]) -> Tensor:
    """As in the papers of CharacterBERT and ELMo, with all 50 ids."""
    ids = torch.tensor(word + [PADDING] * (50 - len(word)))
    characters = weights[f"{CNN}_char_embedding_weights"][ids]  # (50, 16)
    parts = []
    for i, (width, _) in enumerate(FILTERS):
        kernel, bias = weights[f"{CNN}char_conv_{i}.weight"], weights[f"{CNN}char_conv_{i}.bias"]
        windows = torch.stack([characters[j : j + width].T for j in range(50 - width + 1)])  # (windows, 16, width)
        parts.append(F.relu((windows.flatten(1) @ kernel.flatten(1).T + bias).max(dim=0).values))
    x = torch.cat(parts)
    for i in range(2):
        both = weights[f"{CNN}_highways._layers.{i}.weight"] @ x + weights[f"{CNN}_highways._layers.{i}.bias"]
        changed, gate = both[: len(x)], torch.sigmoid(both[len(x) :])
        x = gate * x + (1 - gate) * F.relu(changed)
    return weights[f"{CNN}_projection.weight"] @ x + weights[f"{CNN}_projection.bias"]


def plain_bert(weights: dict[str, Tensor], words: list[list[int]]) -> Tensor:
    """Embeddings (W, 16) of the words of one sentence."""

    def linear(x: Tensor, name: str) -> Tensor:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, (16,), weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

    x = torch.stack([plain_word_vector(weights, word) for word in words])
    x = x + weights["embeddings.position_embeddings.weight"][: len(words)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{i}." for i in range(2)):
        q, k, v = (linear(x, f"{layer}attention.self.{name}").view(-1, 2, 8) for name in ("query", "key", "value"))
        attention = torch.einsum("ihd,jhd->hij", q, k).div(math.sqrt(8)).softmax(dim=2)
        context = torch.einsum("hij,jhd->ihd", attention, v).flatten(1)
        x = norm(x + linear(context, f"{layer}attention.output.dense"), f"{layer}attention.output.LayerNorm")
        inner = F.gelu(linear(x, f"{layer}intermediate.dense"))
        x = norm(x + linear(inner, f"{layer}output.dense"), f"{layer}output.LayerNorm")
    return x


def plain_vector(weights: dict[str, Tensor], sentence: str, pooling: str) -> Tensor:
    words = [CLS, *map(word_ids, BasicTokenizer(do_lower_case=False).tokenize(sentence)), SEP]
    x = plain_bert(weights, words)
    if pooling == "pooler":
        return torch.tanh(weights["pooler.dense.weight"] @ x[0] + weights["pooler.dense.bias"])
    return {"mean": x.mean(dim=0), "max": x.max(dim=0).values, "cls": x[0]}[pooling]


def test_the_network_over_characters_has_the_published_number_of_weights(
    fixtures_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = json.loads((fixtures_dir / "rolaser.json").read_text())["character_cnn"]
    assert [list(pair) for pair in PUBLISHED_FILTERS] == expected["filters(width,n)"]
    monkeypatch.setattr(character_cnn, "FILTERS", PUBLISHED_FILTERS)
    cnn = CharacterCnn(expected["output_dim"])
    assert sum(parameter.numel() for parameter in cnn.parameters()) == expected["n_parameters"]


@pytest.mark.parametrize("pooling", ["mean", "max", "cls", "pooler"])
def test_vectors_are_those_of_a_plain_implementation(folder: Path, pooling: str) -> None:
    weights = published_weights()
    vectors = load(folder, pooling=pooling).encode(SENTENCES)
    expected = torch.stack([plain_vector(weights, sentence, pooling) for sentence in SENTENCES])
    assert torch.pdist(expected).min() > 0.1
    torch.testing.assert_close(vectors, expected, rtol=1e-4, atol=1e-5)


def test_gradients_are_those_of_a_plain_implementation(folder: Path) -> None:
    weights = {name: value.requires_grad_() for name, value in published_weights().items()}
    direction = torch.linspace(-1, 1, 16)
    sum(plain_vector(weights, sentence, "max") @ direction for sentence in SENTENCES).backward()  # type: ignore[union-attr]
    encoder = load(folder, pooling="max")
    encoder(encoder.collate(encoder.tokenize(SENTENCES))).mul(direction).sum().backward()
    cnn = encoder.transformer.embeddings.word_embeddings
    pairs = [
        (cnn.characters.weight, f"{CNN}_char_embedding_weights"),
        (cnn.convolutions[6].weight, f"{CNN}char_conv_6.weight"),
        (cnn.highways[0].weight, f"{CNN}_highways._layers.0.weight"),
        (encoder.transformer.encoder.layer[0].output.dense.weight, "encoder.layer.0.output.dense.weight"),
    ]
    for ours, theirs in pairs:
        assert ours.grad.abs().sum() > 0
        torch.testing.assert_close(ours.grad, weights[theirs].grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("word", ["a", "luv", "x" * 40, "x" * 60])
def test_less_padding_after_a_word_does_not_change_its_vector(word: str) -> None:
    torch.manual_seed(0)
    cnn, ids = CharacterCnn(16), word_ids(word)
    short = torch.tensor([ids + [PADDING] * min(7, 50 - len(ids))])
    long = torch.tensor([ids + [PADDING] * (50 - len(ids))])
    torch.testing.assert_close(cnn(short), cnn(long), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_neither_the_batch_nor_padding_changes_a_vector(folder: Path, pooling: str) -> None:
    encoder = load(folder, pooling=pooling)
    alone = encoder.encode(SENTENCES, batch_size=1)
    tokens = encoder.collate([*encoder.tokenize(SENTENCES), []])
    # Padded with ids of a word instead of the padding id.
    badly_padded = tokens._replace(input_ids=tokens.input_ids.masked_fill(tokens.attention_mask == 0, 259))
    with torch.no_grad():
        together = encoder(badly_padded)
    torch.testing.assert_close(together[:-1], alone, rtol=0, atol=1e-5)
    assert (together[-1] == 0).all()


def test_gradient_caching_does_not_change_the_gradient(folder: Path) -> None:
    encoder = load(folder)
    ids = encoder.tokenize(SENTENCES)
    flat, lengths = torch.tensor([id_ for row in ids for id_ in row]), torch.tensor(list(map(len, ids)))
    gradients = []
    for chunk_size in (None, 1, 3):
        encoder.zero_grad()
        embed_chunked(encoder, flat, lengths, chunk_size=chunk_size).pow(3).sum().backward()
        assert encoder.word_vectors.grad is not None
        gradients.append(encoder.word_vectors.grad.clone())
    assert gradients[0].abs().sum() > 0
    for gradient in gradients[1:]:
        torch.testing.assert_close(gradient, gradients[0], rtol=1e-4, atol=1e-5)


# ---- what else an encoder is


def test_the_digest_covers_case_length_preprocessing_and_weights(folder: Path) -> None:
    digests = [load(folder, **options).digest() for options in ({}, {"lowercase": True}, {"max_length": 9})]
    encoder = load(folder)
    assert encoder.digest() == digests[0]
    encoder.set_preprocessing("laser")
    digests.append(encoder.digest())
    encoder.set_preprocessing("none")
    with torch.no_grad():
        encoder.word_vectors[98, 0] += 1
    digests.append(encoder.digest())
    assert len(set(digests)) == 5


def test_laser_preprocessing_is_applied_before_words_are_spelt(folder: Path) -> None:
    plain, laser = load(folder), load(folder)
    laser.set_preprocessing("laser")
    assert laser.tokenize(["LUV “it”"]) == plain.tokenize(['luv "it"'])


@pytest.mark.parametrize(
    ("options", "frozen_blocks"),
    [({"embeddings": "word", "layers": 0}, ()), ({"embeddings": "none", "layers": 1}, ("layer.0",))],
)
def test_freezing_word_vectors_freezes_characters_and_freezing_embeddings_the_whole_cnn(
    folder: Path, options: dict[str, Any], frozen_blocks: tuple[str, ...]
) -> None:
    encoder = load(folder)
    freeze(encoder, **options)
    names = frozen_names(encoder)
    table = f"transformer.{CNN}characters.weight"
    if not frozen_blocks:
        assert names == {table}
    else:
        before = {name for name in encoder.state_dict() if name.startswith("transformer.embeddings.")}
        assert table in before
        assert before < names
        assert all(".embeddings." in name or any(part in name for part in frozen_blocks) for name in names)
    encoder(encoder.collate(encoder.tokenize(SENTENCES))).sum().backward()
    assert {name for name, parameter in encoder.named_parameters() if parameter.grad is None} == names


# ---- files


@pytest.mark.parametrize("prefix", ["bert.", "character_bert."])
def test_weights_with_a_prefix_are_read_from_safetensors_and_unused_ones_are_logged(
    folder: Path, tmp_path: Path, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    weights = {prefix + name: value for name, value in published_weights().items()}
    weights["cls.predictions.bias"] = torch.zeros(3)
    write(tmp_path, {})
    (tmp_path / "pytorch_model.bin").unlink()
    save_file(weights, tmp_path / "model.safetensors")
    with caplog.at_level(logging.INFO):
        encoder = load(tmp_path)
    assert encoder.digest() == load(folder).digest()
    unused = f"unused weights: {prefix}pooler.dense.bias, {prefix}pooler.dense.weight, cls.predictions.bias"
    assert unused in caplog.text


def test_every_missing_weight_is_named(tmp_path: Path) -> None:
    weights = published_weights()
    gone = [f"{CNN}char_conv_3.bias", "encoder.layer.1.output.dense.weight"]
    for name in gone:
        del weights[name]
    with pytest.raises(ValueError, match=r"lacks 2 of \d+ weights") as caught:
        load(write(tmp_path / "model", weights))
    assert all(name in str(caught.value) for name in gone)


def test_files_of_another_model_are_refused(folder: Path, tmp_path: Path) -> None:
    def copy_with(**changes: Any) -> Path:
        shutil.copytree(folder, tmp_path / "copy", dirs_exist_ok=True, copy_function=shutil.copy)
        config = {key: value for key, value in (CONFIG | changes).items() if value is not None}
        (tmp_path / "copy" / "config.json").write_text(json.dumps(config))
        return tmp_path / "copy"

    with pytest.raises(ValueError, match=r"config\.json: cnn_activation is tanh, only relu is supported"):
        load(copy_with(cnn_activation="tanh"))
    with pytest.raises(ValueError, match=r"config\.json: expected the sizes of a BERT, found no hidden_size"):
        load(copy_with(hidden_size=None))
    with pytest.raises(ValueError, match=r"the weights do not have the sizes in config\.json"):
        load(copy_with(intermediate_size=32))
    (tmp_path / "copy" / "pytorch_model.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"expected model\.safetensors or pytorch_model\.bin, found neither"):
        load(tmp_path / "copy")
    (tmp_path / "copy" / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"expected the config of a CharacterBERT"):
        load(tmp_path / "copy")


def test_impossible_options_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"encoder\.max_length=41: expected 3 to 40 words"):
        load(folder, max_length=41)
    with pytest.raises(ValueError, match=r"encoder\.max_length=2: expected 3"):
        load(folder, max_length=2)
    with pytest.raises(ValueError, match=r"encoder\.pooling=first: expected one of cls, mean, max, pooler"):
        load(folder, pooling="first")


def test_code_beside_the_weights_is_not_run_and_does_not_matter(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    code = {"AutoModel": "modeling_character_bert.CharacterBertForPreTraining"}
    (tmp_path / "copy" / "config.json").write_text(json.dumps(CONFIG | {"auto_map": code, "model_type": "x"}))
    (tmp_path / "copy" / "modeling_character_bert.py").write_text("raise SystemExit")
    assert load(tmp_path / "copy").digest() == load(folder).digest()


def test_a_new_projection_decides_the_size(folder: Path) -> None:
    encoder = load(folder, projection=5)
    assert encoder.dim == 5
    assert encoder.encode(SENTENCES, precision="bfloat16").shape == (4, 5)


def test_there_is_no_table_of_word_vectors() -> None:
    config = BertConfig(vocab_size=1, **CONFIG)
    options = {"pooling": "mean", "projection": None, "max_length": 40, "normalize": False}
    encoder = CharacterBertEncoder(name="x", config=config, lowercase=False, **options)  # type: ignore[arg-type]
    assert not any("word_embeddings.weight" in name for name in encoder.state_dict())
