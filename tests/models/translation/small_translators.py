"""Folders of small random translation models of four families, with real tokenizers of their kinds."""

import json
import random
from collections.abc import Iterable
from pathlib import Path

import sentencepiece
import torch
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MarianConfig,
    MarianMTModel,
    MarianTokenizer,
    NllbTokenizer,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
)

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
POSITIONS = 48
SIZE = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": POSITIONS,
    "init_std": 1.0,
    "tie_word_embeddings": False,  # so that the likeliest tokens differ from text to text
}


def sentences(count: int, seed: int = 0) -> list[str]:
    """Made-up sentences of 1 to 12 words."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abdeghiklmnoprstuz", k=rng.randint(2, 6))) for _ in range(60)]
    return [" ".join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(count)]


def save_m2m100(folder: Path) -> Path:
    """M2M-100: two-letter codes, a tokenizer in Python."""
    pieces = _sentence_pieces(folder / "sentencepiece.bpe.model")
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys([*SPECIAL, *pieces]))}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"))
    tokenizer.save_pretrained(folder)
    languages = tokenizer.lang_code_to_id.values()
    _save_m2m100_model(folder, max(languages) + 1, languages)
    return folder


def save_nllb(folder: Path) -> Path:
    """NLLB: codes such as ``deu_Latn``, a tokenizer of the Rust kind, the model of M2M-100."""
    _sentence_pieces(folder / "sentencepiece.bpe.model")
    letters = sorted({letter for text in sentences(200) for letter in text.replace(" ", "▁")})
    vocabulary = {piece: number for number, piece in enumerate([*SPECIAL, *letters])}
    tokenizer = NllbTokenizer(vocab=vocabulary, merges=[])
    tokenizer.save_pretrained(folder)
    (folder / "sentencepiece.bpe.model").unlink()
    _save_m2m100_model(folder, len(tokenizer), range(len(vocabulary), len(tokenizer)))
    return folder


def save_marian(folder: Path) -> Path:
    """Marian: one direction, no codes."""
    pieces = _sentence_pieces(folder / "source.spm")
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(["</s>", "<unk>", *pieces, "<pad>"]))}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    names = (folder / "source.spm", folder / "target.spm", folder / "vocab.json")
    MarianTokenizer(*map(str, names), source_lang="de", target_lang="en").save_pretrained(folder)
    padding = vocabulary["<pad>"]
    torch.manual_seed(0)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=len(vocabulary),
            decoder_vocab_size=len(vocabulary),
            pad_token_id=padding,
            decoder_start_token_id=padding,
            eos_token_id=0,
            **SIZE,
        )
    )
    model.generation_config.bad_words_ids = [[padding]]  # as the released ones
    model.save_pretrained(folder)
    return folder


def save_t5(folder: Path) -> Path:
    """T5: told by a prefix in words what to do."""
    pieces = _sentence_pieces(folder / "pieces.model")
    (folder / "pieces.model").unlink()
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *((piece, -1.0) for piece in pieces[3:])]
    tokenizer = T5Tokenizer(vocab=vocabulary, extra_ids=0)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=16,
            d_kv=8,
            d_ff=32,
            num_layers=1,
            num_heads=2,
            decoder_start_token_id=0,
            initializer_factor=8.0,
        )
    ).save_pretrained(folder)
    return folder


def _save_m2m100_model(folder: Path, vocabulary: int, languages: Iterable[int]) -> None:
    torch.manual_seed(0)
    model = M2M100ForConditionalGeneration(
        M2M100Config(vocab_size=vocabulary, pad_token_id=1, bos_token_id=0, eos_token_id=2, **SIZE)
    )
    with torch.no_grad():
        model.lm_head.weight[list(languages)] = 0.0  # a text names no languages
        model.lm_head.weight[2] *= 2.0  # and ends now and then
    model.save_pretrained(folder)


def _sentence_pieces(path: Path) -> list[str]:
    """Train and save a small sentence piece model; its pieces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(200)),
        model_prefix=str(path.with_suffix("")),
        vocab_size=80,
        model_type="unigram",
        num_threads=1,
        minloglevel=2,
    )
    trained = path.with_suffix("")
    Path(f"{trained}.vocab").unlink()
    if Path(f"{trained}.model") != path:
        Path(f"{trained}.model").rename(path)
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(number) for number in range(len(model))]
