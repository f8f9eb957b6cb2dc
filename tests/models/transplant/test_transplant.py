"""A transplanted encoder: embeddings, special tokens by role, saved and read again."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

from tests.models.small import load_encoder
from tests.models.transplant.toy import VECTORS, WORDS, source_encoder, static_tokenizer
from xsent.models.encoders.tiny import TinyEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.transplant.transplant import TransplantOptions, check_source, check_static, transplant

STATIC = torch.tensor(list(VECTORS.values()))
NEAREST = TransplantOptions(
    neighbours=1, temperature=0.05, norm=None, min_count=1, min_ratio=1.0, anchor_count=1, anchor_ratio=1.0
)
TEXT = ["The cat chat chien", "", "s, 𐍈"]


def row(encoder: SentenceEncoder, token: str) -> torch.Tensor:
    return encoder.word_vectors.detach()[encoder.tokenizer.convert_tokens_to_ids(token)]


def test_pieces_and_special_tokens_get_the_embeddings_of_paper_and_pencil() -> None:
    source = source_encoder()
    encoder, report = transplant(source, static_tokenizer(), STATIC, texts=None, options=NEAREST)
    table = source.word_vectors.detach()
    nearest = {"▁the": "the", "▁cat": "cat", "▁dog": "dog", "▁die": "die", "s": "##s", ",": ","}  # copied
    nearest |= {"▁chat": "cat", "▁chien": "dog"}
    nearest |= {"<unk>": "[UNK]"} | {token: token for token in ("[CLS]", "[SEP]", "[PAD]", "[MASK]")}
    for piece, word in nearest.items():
        assert torch.equal(row(encoder, piece), table[WORDS.index(word)]), piece
    assert encoder.word_vectors.shape == (len(VECTORS) + 4, 8)
    assert (report.copied, report.interpolated, report.unmatched, report.anchors) == (6, 2, 1, 6)
    assert set(report.special) == {"<unk>", "[CLS]", "[SEP]", "[PAD]", "[MASK]"}
    # The source stays as it is, and a sentence of copied pieces has its vector.
    assert torch.equal(source.word_vectors.detach(), table)
    torch.testing.assert_close(encoder.encode(["the cat, dog"]), source.encode(["the cat, dog"]))
    assert not torch.allclose(encoder.encode(["chien"]), source.encode(["chien"]))
    torch.testing.assert_close(encoder.encode(["chien"]), source.encode(["dog"]))


def test_a_word_that_the_language_does_not_use_is_not_copied() -> None:
    # "die" is a word of the source, but the text has the German article nowhere: it gets the embedding of "the".
    source, text = source_encoder(), ["the cat", "the dog"]
    encoder, report = transplant(source, static_tokenizer(), STATIC, texts=text, options=NEAREST)
    assert torch.equal(row(encoder, "▁die"), source.word_vectors[WORDS.index("the")].detach())
    assert report.copied == 3
    with pytest.raises(ValueError, match="source: 3 of its words are used in the text, none often enough"):
        transplant(source, static_tokenizer(), STATIC, texts=text, options=NEAREST._replace(anchor_count=3))


def test_special_tokens_stand_where_the_source_has_them() -> None:
    source = source_encoder()
    encoder, _ = transplant(source, static_tokenizer(), STATIC, texts=None, options=NEAREST)
    tokens: Any = encoder.tokenizer
    ids = tokens("Chat 𐍈")["input_ids"]
    assert tokens.convert_ids_to_tokens(ids) == ["[CLS]", "▁chat", "▁", "<unk>", "[SEP]"]
    pair = tokens("the", "cat dog")
    assert tokens.convert_ids_to_tokens(pair["input_ids"]) == ["[CLS]", "▁the", "[SEP]", "▁cat", "▁dog", "[SEP]"]
    assert pair["token_type_ids"] == [0, 0, 0, 1, 1, 1]
    assert tokens.pad_token_id == encoder.transformer.config.pad_token_id == 0


def test_the_saved_folder_gives_equal_vectors(tmp_path: Path) -> None:
    encoder, _ = transplant(source_encoder(), static_tokenizer(), STATIC, texts=None, options=NEAREST)
    encoder.save(tmp_path)
    assert torch.equal(load_encoder(tmp_path).encode(TEXT), encoder.encode(TEXT))


@pytest.mark.slow
def test_sentence_transformers_reads_the_folder(tmp_path: Path) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    encoder, _ = transplant(source_encoder(), static_tokenizer(), STATIC, texts=None, options=NEAREST)
    encoder.save(tmp_path)
    model = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu", local_files_only=True)
    texts = [text for text in TEXT if text]
    torch.testing.assert_close(model.encode(texts, convert_to_tensor=True), encoder.encode(texts), rtol=0, atol=1e-6)


def test_positions_that_start_at_the_padding_id_stay() -> None:
    # A RoBERTa counts positions from the padding id on, 1, and its begin and end tokens have several roles.
    words = {word: index for index, word in enumerate(["<s>", "<pad>", "</s>", "<unk>", "▁the", "▁cat", "<mask>"])}
    rust = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    rust.pre_tokenizer = pre_tokenizers.Metaspace()
    ends = [("<s>", 0), ("</s>", 2)]
    rust.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ends
    )
    roles = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "mask_token": "<mask>"}
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=rust, model_max_length=12, unk_token="<unk>", pad_token="<pad>", **roles
    )
    size: dict[str, Any] = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = RobertaConfig(vocab_size=len(words), max_position_embeddings=14, initializer_range=0.5, **size)
    options: Any = {"pooling": ("mean",), "projection": nn.Sequential(), "prompt": "", "max_length": 12}
    torch.manual_seed(0)
    source = SentenceEncoder(
        name="source", transformer=RobertaModel(config), tokenizer=tokenizer, normalize=True, **options
    ).eval()
    encoder, _ = transplant(source, static_tokenizer(), STATIC, texts=None, options=NEAREST)
    assert encoder.tokenizer.convert_tokens_to_ids("<pad>") == 1
    assert encoder.tokenizer("the", "cat").tokens() == ["<s>", "▁the", "</s>", "</s>", "▁cat", "</s>"]
    texts = ["the cat the cat", "the"]  # padded
    torch.testing.assert_close(encoder.encode(texts), source.encode(texts))


def test_encoders_of_the_wrong_kind_are_refused() -> None:
    tiny = TinyEncoder(name="tiny", dim=4, seed=0, buckets=8, max_length=8)
    with pytest.raises(ValueError, match="--from tiny: expected an encoder of transformers, found TinyEncoder"):
        check_source(tiny, "tiny")
    with pytest.raises(ValueError, match="--tokenizer tiny: expected a trained static encoder, such as mini"):
        check_static(tiny, "tiny")
    source = source_encoder()
    source.tokenizer.pad_token = None
    with pytest.raises(ValueError, match=r"--from x: expected a tokenizer with the special .* found no pad_token"):
        check_source(source, "x")
    source.transformer.set_input_embeddings(nn.Identity())
    with pytest.raises(ValueError, match="--from x: expected a model with word embeddings, found BertModel without"):
        check_source(source, "x")
    with pytest.raises(ValueError, match="none of the 2 pieces is a word of its vocabulary"):
        transplant(source_encoder(), static_tokenizer(["<unk>", "▁xyz"]), STATIC[:2], texts=None, options=NEAREST)
