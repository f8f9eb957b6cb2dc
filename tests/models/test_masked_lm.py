"""What a masked language model predicts, on small random models of three kinds of tokenizers."""

import random
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    PreTrainedTokenizerFast,
)

from tests.models.piece_bert import MAX_LENGTH, PIECES, WORDS, save_bert
from tests.models.small import pair_transformer
from xsent.models.masked_lm import MaskedLM

WHOLE_WORDS = {word.lower() for word in WORDS}
SENTENCE = ("the", "red", "cat", "sleep", "in", "a", "garden", ".")


class Blank(NamedTuple):
    words: tuple[str, ...]
    position: int
    candidates: set[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("bert"), BertForMaskedLM)


def load(folder: Path, **options: Any) -> MaskedLM:
    defaults: dict[str, Any] = {"path": str(folder), "top": len(PIECES), "max_length": MAX_LENGTH}
    return MaskedLM.load(name="bert", revision=None, **defaults | options)


def random_bert(vocabulary: int) -> BertForMaskedLM:
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(0)
    return BertForMaskedLM(BertConfig(vocab_size=vocabulary, max_position_embeddings=32, **size))


# ---- predictions


def test_predictions_are_the_models_best_whole_words_in_lower_case_without_the_word_itself(folder: Path) -> None:
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder)
    masked = tokenizer("the red [MASK] sleep in a garden .", return_tensors="pt")
    with torch.no_grad():
        order = model(**masked).logits[0, 3].argsort(descending=True)
    ranked = [piece.lower() for piece in tokenizer.convert_ids_to_tokens(order) if piece in WORDS and piece != "cat"]
    predicted = load(folder).predictions(SENTENCE, 2)
    assert predicted == list(dict.fromkeys(ranked))  # "Dog" and "dog" are one
    assert set(predicted) == WHOLE_WORDS - {"cat"}


def test_only_so_many_pieces_are_looked_at_as_asked_for(folder: Path) -> None:
    everything = load(folder).predictions(SENTENCE, 2)
    for top in (1, 5, 10):
        few = load(folder, top=top).predictions(SENTENCE, 2)
        assert len(few) <= top
        assert few == everything[: len(few)]


def test_the_word_itself_is_not_predicted_in_another_case_either(folder: Path) -> None:
    assert "dog" not in load(folder).predictions(("a", "Dog", "run"), 1)


def test_a_word_of_several_pieces_has_no_prediction(folder: Path) -> None:
    model = load(folder)
    assert model.predictions(("the", "cats", "run"), 1) == []
    assert model.predictions(("the", "cats", "run"), 2) != []


def test_a_word_behind_the_end_of_the_model_has_no_prediction(folder: Path) -> None:
    model = load(folder)
    long = ("the", "cat") * MAX_LENGTH
    assert model.predictions(long, MAX_LENGTH - 3) != []
    assert model.predictions(long, MAX_LENGTH - 2) == []


def test_padding_and_truncation_that_were_saved_with_a_tokenizer_play_no_part(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "padded")
    backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.enable_padding(length=12)
    backend.enable_truncation(4)
    backend.save(str(tmp_path / "padded" / "tokenizer.json"))
    assert load(tmp_path / "padded").predictions(SENTENCE, 2) == load(folder).predictions(SENTENCE, 2)


# ---- choices


def test_the_candidate_that_is_predicted_first_is_chosen(folder: Path) -> None:
    model = load(folder)
    best = model.predictions(SENTENCE, 2)
    blanks = [
        Blank(SENTENCE, 2, {best[4], best[1], "unheard"}),
        Blank(SENTENCE, 2, {"unheard"}),
        Blank(SENTENCE, 2, set()),
        Blank(("the", "cats"), 1, {"dog"}),
    ]
    assert model.choose(blanks) == [best[1], None, None, None]
    assert model.skipped == 1  # "cats"; a blank without candidates is not asked about


def test_choices_do_not_depend_on_the_blanks_beside(folder: Path) -> None:
    rng = random.Random(0)
    sentences = [tuple(rng.choices([*WORDS, "cats"], k=rng.randint(1, 10))) for _ in range(40)]
    blanks = [Blank(words, rng.randrange(len(words)), set(rng.sample(sorted(WHOLE_WORDS), 2))) for words in sentences]
    model = load(folder)
    together = model.choose(blanks, progress=True)
    assert together == [model.choose([blank])[0] for blank in blanks]
    assert model.choose(blanks[::-1]) == together[::-1]
    assert any(together)


# ---- other tokenizers


def test_pieces_of_a_sentence_piece_model_that_continue_a_word_are_no_words() -> None:
    encoder = pair_transformer(layers=1, feed_forward=8, max_length=32)
    tokenizer = encoder.tokenizer
    tokenizer.backend_tokenizer.decoder = decoders.Metaspace()  # as such models have it
    model = random_bert(len(tokenizer))
    predicted = MaskedLM(name="small", transformer=model, tokenizer=tokenizer, top=3000, max_length=32).predictions(
        ("the", "garden", "is", "red"), 1
    )
    assert len(predicted) > 500
    vocabulary = tokenizer.get_vocab()
    assert [word for word in predicted if "▁" + word not in vocabulary] == []


def test_pieces_of_a_byte_level_model_that_continue_a_word_are_no_words() -> None:
    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    text = ["le café est fermé", "les cafés sont fermés", "le jardin est fermé , le café est là ."] * 5
    backend.train_from_iterator(
        text, trainers.BpeTrainer(vocab_size=400, special_tokens=["<unk>", "<mask>", "<pad>"], show_progress=False)
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", mask_token="<mask>", pad_token="<pad>"
    )
    model = MaskedLM(
        name="bytes", transformer=random_bert(len(tokenizer)), tokenizer=tokenizer, top=len(tokenizer), max_length=32
    )
    predicted = model.predictions(("le", "café", "est", "là"), 1)
    assert {"est", "jardin", "fermé", "cafés"} <= set(predicted)
    assert not {"café", "é", "mé", "er", ",", "."} & set(predicted)
    assert model.predictions(("le", "mé", "est"), 1) == []  # a space and two letters, in two pieces
    # No space is before the first word of a sentence: "les" and "sont" are pieces without it, "jardin" is not.
    begins = set(model.predictions(("le", "café", "est", "là"), 0))
    assert {"les", "sont"} <= begins
    assert not {"le", "jardin", "est"} & begins


# ---- refusals


def test_a_checkpoint_without_a_head_for_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the checkpoint lacks cls\.predictions\..*: its predictions would be random"):
        load(save_bert(tmp_path, BertModel))


def test_impossible_options_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match=rf"ranker.top=0: expected 1 to {len(PIECES)}, the pieces of bert"):
        load(folder, top=0)
    with pytest.raises(ValueError, match=rf"ranker.max_length=512: expected 3 to {MAX_LENGTH} for bert"):
        load(folder, max_length=512)
    with pytest.raises(FileNotFoundError, match="no_such_folder"):
        load(folder, path="no_such_folder")


def test_a_model_that_predicts_the_next_word_is_refused() -> None:
    backend = Tokenizer(models.WordLevel({"<unk>": 0, "the": 1}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    with pytest.raises(ValueError, match=r"ranker gpt: expected a masked language model, its tokenizer has no mask"):
        MaskedLM(name="gpt", transformer=random_bert(2), tokenizer=tokenizer, top=1, max_length=8)
