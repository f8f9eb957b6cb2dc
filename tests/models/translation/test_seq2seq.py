"""Translation by small random models of four families, compared with transformers and with single texts."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import get_object
from omegaconf import OmegaConf
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, BertModel
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES as M2M_100
from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES as MBART_50
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES as NLLB

from tests.helpers import ROOT
from tests.models.piece_bert import save_bert
from tests.models.translation.small_translators import (
    POSITIONS,
    save_m2m100,
    save_marian,
    save_nllb,
    save_t5,
    sentences,
)
from tests.test_conf import check_signatures
from xsent.languages import to_iso639_3
from xsent.models.translation.languages import codes_by_language, iso639_3
from xsent.models.translation.seq2seq import Translation, Translator

FAMILIES: dict[str, Callable[[Path], Path]] = {"m2m100": save_m2m100, "nllb": save_nllb}
FAMILIES |= {"marian": save_marian, "t5": save_t5}
WITHOUT_CODES: dict[str, Any] = {"source_codes": {"deu": "German"}, "target_codes": {"eng": "English"}}
TEXTS = sentences(25, seed=3)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: save(tmp_path_factory.mktemp(name)) for name, save in FAMILIES.items()}


def load(folder: Path, family: str = "m2m100", **options: Any) -> Translator:
    defaults: dict[str, Any] = {"beams": 1, "max_length": 24, "precision": "float32", "prefix": ""}
    defaults |= {"name": family, "path": str(folder), "revision": None, "source_codes": None, "target_codes": None}
    return Translator(**defaults | (WITHOUT_CODES if family in ("marian", "t5") else {}) | options)


def translate(translator: Translator, texts: Sequence[str], source: str = "deu", target: str = "eng") -> list[str]:
    translated = translations(translator, texts, source, target)
    return [translated[place].text for place in range(len(texts))]


def translations(
    translator: Translator, texts: Sequence[str], source: str = "deu", target: str = "eng"
) -> dict[int, Translation]:
    translated: dict[int, Translation] = {}
    for batch in translator.translate(texts, source_lang=source, target_lang=target, progress=False):
        assert not translated.keys() & batch.keys()
        translated |= batch
    return translated


# ---- translations


@pytest.mark.slow
@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_translation_does_not_depend_on_the_texts_beside_it(
    folders: dict[str, Path], family: str, beams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = load(folders[family], family, beams=beams)
    together = translate(translator, TEXTS)
    assert len(set(together)) > 5
    assert translate(translator, TEXTS[::-1]) == together[::-1]
    monkeypatch.setattr("xsent.models.translation.seq2seq.CPU_TOKENS", 1)  # one text at a time
    assert translate(translator, TEXTS) == together


@pytest.mark.parametrize(
    ("family", "codes"), [("m2m100", ("de", "en", "fr")), ("nllb", ("deu_Latn", "eng_Latn", "fra_Latn"))]
)
def test_a_translation_is_that_of_transformers_with_the_target_language_as_first_token(
    folders: dict[str, Path], family: str, codes: tuple[str, str, str]
) -> None:
    source, *targets = codes
    tokenizer = AutoTokenizer.from_pretrained(folders[family], src_lang=source)
    model = AutoModelForSeq2SeqLM.from_pretrained(folders[family])
    translator = load(folders[family], family, beams=3, max_length=40)
    results = []
    for target, code in zip(("eng", "fra"), targets, strict=True):
        (token,) = tokenizer.convert_tokens_to_ids([f"__{code}__" if family == "m2m100" else code])
        expected = []
        for text in TEXTS[2:6]:
            ids = tokenizer(text, return_tensors="pt", truncation=True, max_length=40)
            (generated,) = model.generate(**ids, forced_bos_token_id=token, num_beams=3, max_length=40)
            assert generated[1] == token
            text_ids = [id_ for id_ in generated[2:].tolist() if id_ not in range(4)]
            expected.append(tokenizer.decode(text_ids).strip())
        results.append(translate(translator, TEXTS[2:6], target=target))
        assert results[-1] == expected
    assert results[0] != results[1]


def test_the_source_language_is_told_to_the_model(folders: dict[str, Path]) -> None:
    translator = load(folders["m2m100"])
    assert translate(translator, TEXTS, "deu") != translate(translator, TEXTS, "fra")


def test_a_prefix_stands_before_every_text_with_the_models_names_of_the_languages(folders: dict[str, Path]) -> None:
    with_prefix = load(folders["t5"], "t5", prefix="from {source} to {target}: ")
    plain = load(folders["t5"], "t5")
    short = [text for text in TEXTS if len(text) < 10]
    assert translate(with_prefix, short) == translate(plain, [f"from German to English: {text}" for text in short])


def test_the_longest_texts_come_first_and_batches_keep_to_their_size(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = load(folders["m2m100"], beams=2, max_length=40)
    monkeypatch.setattr("xsent.models.translation.seq2seq.CPU_TOKENS", 200)
    lengths = [min(40, len(translator.tokenizer(text)["input_ids"])) for text in TEXTS]
    sizes = [
        [lengths[place] for place in batch]
        for batch in translator.translate(TEXTS, source_lang="deu", target_lang="eng", progress=False)
    ]
    assert [length for batch in sizes for length in batch] == sorted(lengths, reverse=True)
    assert all(len(batch) * max(batch) <= 100 for batch in sizes)
    assert len(sizes) > 2


def test_no_texts_have_no_translations(folders: dict[str, Path]) -> None:
    assert translate(load(folders["m2m100"]), []) == []


def test_a_checkpoint_that_would_draw_is_searched_all_the_same(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(folders["m2m100"], tmp_path / "drawing")
    settings = json.loads((folders["m2m100"] / "generation_config.json").read_text())
    drawing = settings | {"do_sample": True, "temperature": 3.0, "max_new_tokens": 2, "num_beams": 2}
    (tmp_path / "drawing" / "generation_config.json").write_text(json.dumps(drawing))
    assert translate(load(tmp_path / "drawing"), TEXTS) == translate(load(folders["m2m100"]), TEXTS)


def test_bfloat16_computes_in_bfloat16(folders: dict[str, Path]) -> None:
    translator = load(folders["marian"], "marian", precision="bfloat16")
    assert len(translate(translator, TEXTS)) == len(TEXTS)
    assert translator._transformer.dtype == torch.bfloat16


# ---- what is cut


def test_texts_and_translations_that_are_cut_are_marked(folders: dict[str, Path]) -> None:
    translator = load(folders["m2m100"], max_length=10)
    long = {place for place, text in enumerate(TEXTS) if len(translator.tokenizer(text)["input_ids"]) > 10}
    assert 0 < len(long) < len(TEXTS)
    short = translations(translator, TEXTS)
    truncated = {place for place, translation in short.items() if translation.truncated}
    # A translation of a complete text gets longer when one more token is allowed.
    longer = translations(load(folders["m2m100"], max_length=11), TEXTS)
    continued = {place for place in short.keys() - long if short[place].text != longer[place].text}
    assert continued
    assert truncated >= long | continued
    assert len(truncated) < len(TEXTS)


def test_the_weights_can_be_forgotten_and_come_back(folders: dict[str, Path]) -> None:
    translator = load(folders["m2m100"])
    translated = translate(translator, TEXTS)
    translator.unload()
    assert "_transformer" not in vars(translator)
    assert translate(translator, TEXTS) == translated


# ---- languages


def test_a_language_that_the_model_does_not_know_is_named_with_those_that_it_knows(folders: dict[str, Path]) -> None:
    translator = load(folders["m2m100"])
    with pytest.raises(ValueError, match=r"source language: expected one of afr, amh, .*, zul, found grc"):
        next(translator.translate(["a"], source_lang="grc", target_lang="eng", progress=False))
    with pytest.raises(ValueError, match=r"translator marian, target language: expected one of eng, found deu"):
        load(folders["marian"], "marian").check(source_lang="deu", target_lang="deu")


@pytest.mark.parametrize("codes", [M2M_100["m2m100"], MBART_50, NLLB], ids=["m2m100", "mbart50", "nllb"])
def test_codes_mean_the_languages_that_readers_take_them_for(codes: Sequence[str]) -> None:
    nonstandard = {"ns": "nso"}  # M2M-100's code for Northern Sotho, which no standard has
    assert {code: iso639_3(code) for code in codes} == {
        code: nonstandard.get(code) or to_iso639_3(code) for code in codes
    }


def test_of_two_scripts_of_a_language_the_first_stands_for_it() -> None:
    codes = codes_by_language(NLLB)
    assert (codes["zho"], codes["fas"], codes["ara"]) == ("zho_Hans", "pes_Arab", "arb_Arab")


def test_what_is_no_language_has_no_code() -> None:
    assert codes_by_language(["de", "<pad>", "xx", ""]) == {"deu": "de"}


def test_a_code_of_ours_comes_before_the_tokenizers(folders: dict[str, Path]) -> None:
    translator = load(folders["nllb"], "nllb", target_codes={"eng": "fra_Latn"})
    assert translate(translator, TEXTS) == translate(load(folders["nllb"], "nllb"), TEXTS, target="fra")


# ---- digest


def test_the_digest_knows_weights_and_settings_and_loads_no_weights(folders: dict[str, Path], tmp_path: Path) -> None:
    plain = load(folders["m2m100"])
    shutil.copytree(folders["m2m100"], tmp_path / "copy")
    assert load(tmp_path / "copy").digest() == plain.digest()
    weights = load_file(tmp_path / "copy" / "model.safetensors")
    weights["lm_head.weight"] += 1
    save_file(weights, tmp_path / "copy" / "model.safetensors", metadata={"format": "pt"})
    variants = [load(tmp_path / "copy"), load(folders["m2m100"], beams=2), load(folders["m2m100"], prefix="x")]
    assert len({translator.digest() for translator in (plain, *variants)}) == 4
    assert "_transformer" not in vars(plain)


# ---- what does not fit


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beams": 0}, r"translator\.beams=0: expected at least 1"),
        ({"max_length": POSITIONS + 1}, rf"translator\.max_length=49: expected 4 to {POSITIONS} for m2m100"),
        ({"max_length": 3}, r"translator\.max_length=3: expected 4 to"),
        ({"precision": "float16"}, r"translator\.precision=float16: expected one of float32, bfloat16"),
        ({"prefix": "to {language}: "}, r"translator\.prefix='to \{language\}: ': expected no other names"),
        ({"target_codes": {"eng": "english"}}, r"translator m2m100: expected codes of af, .*, found english"),
    ],
)
def test_an_option_that_does_not_fit_is_named(folders: dict[str, Path], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(folders["m2m100"], **options)


def test_a_model_whose_tokenizer_names_no_language_must_be_told_its_languages(folders: dict[str, Path]) -> None:
    with pytest.raises(
        ValueError, match=r"its tokenizer names no language; give the languages by ISO 639-3 with trans"
    ):
        load(folders["marian"], "marian", source_codes=None)


def test_a_model_without_decoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected an encoder and a decoder, found bert"):
        load(save_bert(tmp_path, BertModel))


def test_a_folder_without_weights_is_named(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(folders["m2m100"], tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"expected weights, \*\.safetensors or"):
        load(tmp_path / "model")


def test_a_checkpoint_that_lacks_weights_translates_nothing(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(folders["m2m100"], tmp_path / "model")
    weights = load_file(tmp_path / "model" / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, tmp_path / "model" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"the checkpoint lacks lm_head\.weight"):
        translate(load(tmp_path / "model"), TEXTS)


# ---- conf/translator


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "conf" / "translator").glob("*.yaml")))
def test_every_translator_of_conf_fits_its_signature(name: str) -> None:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        node = compose("evaluate", [f"+translator={name}"])["translator"]
    plain = OmegaConf.to_container(node)
    assert isinstance(plain, dict)
    check_signatures({"evaluator": {"pivot": {"translator": plain}}})
    assert get_object(plain["_target_"]) == Translator
