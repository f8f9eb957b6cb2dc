"""What ``load_encoder`` takes: names, folders of every format, and clear errors for the rest."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModel

import xsent
from tests.helpers import toy_bert
from tests.models.small import load_encoder as load_transformer
from xsent.batch import WordPair
from xsent.models.encoders.characters.static_characters import StaticCharacterEncoder
from xsent.models.encoders.disentangled import DisentangledEncoder, DisentanglingHeads
from xsent.models.encoders.static import BUNDLED, bundled_folder
from xsent.models.export.pipeline import build_pipeline, write_pipeline
from xsent.run import encoders
from xsent.run.loading import bundled_judge
from xsent.run.start import read_command

TEXTS = ["A dog sleeps in the house.", "Ein Hund schläft im Haus.", "ea ek dl"]


def exported(embedder: Any, folder: Path, space: str = "original") -> Path:
    folder.mkdir()
    write_pipeline(build_pipeline(embedder, space=space), folder)
    return folder


def with_heads(encoder: Any) -> DisentangledEncoder:
    torch.manual_seed(0)
    return DisentangledEncoder(encoder, DisentanglingHeads(encoder.dim, [4]))


def same(folder: Path, expected: Any, **options: Any) -> None:
    torch.testing.assert_close(
        xsent.load_encoder(folder).encode(TEXTS), expected.encode(TEXTS, **options), rtol=0, atol=1e-5
    )


def test_a_name_is_an_encoder_of_conf() -> None:
    for name in BUNDLED:
        assert xsent.load_encoder(name).encode("A dog").shape == (256,)


def test_a_static_folder_gives_the_encoder_it_holds(tmp_path: Path) -> None:
    same(bundled_folder("micro"), xsent.load_encoder("micro"))
    characters = StaticCharacterEncoder(name="c", dim=4, sizes=[3], buckets=50, max_length=64, std=1.0, seed=1)
    characters.save(tmp_path / "characters")
    loaded = xsent.load_encoder(tmp_path / "characters")
    assert torch.nn.functional.cosine_similarity(loaded.encode(TEXTS), characters.encode(TEXTS)).min() > 0.999


@pytest.mark.parametrize("space", ["original", "meaning", "language"])
@pytest.mark.parametrize("base", ["micro", "bert"])
def test_an_export_gives_the_vectors_of_what_was_exported(base: str, space: str, tmp_path: Path) -> None:
    encoder = (
        xsent.load_encoder("micro")
        if base == "micro"
        else load_transformer(toy_bert(tmp_path / "bert"), pooling="mean", normalize=True)
    )
    if space == "original":
        same(exported(encoder, tmp_path / "export"), encoder)
        return
    embedder = with_heads(encoder)
    same(exported(embedder, tmp_path / "export", space), embedder, space=space)


def test_a_folder_of_transformers_is_pooled_by_the_mean_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = toy_bert(tmp_path / "bert")
    same(folder, load_transformer(folder, pooling="mean", normalize=False))
    assert "no modules.json, so its vectors are made by mean pooling" in caplog.text


def test_any_table_of_token_vectors_is_averaged(tmp_path: Path) -> None:
    # As other tools write it: vectors (1, 0), (0, 2) and (4, 0), no Normalize; the unknown token counts.
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    save_file({"embeddings": torch.tensor([[1.0, 0.0], [0.0, 2.0], [4.0, 0.0]])}, tmp_path / "model.safetensors")
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    (tmp_path / "modules.json").write_text(json.dumps([module]))
    assert xsent.load_encoder(tmp_path).encode(["a b", "c", "b b a"]).tolist() == [
        [2.0, 1.0],
        [1.0, 0.0],
        [pytest.approx(8 / 3), pytest.approx(2 / 3)],
    ]


def test_loading_prints_nothing_about_an_unused_pooler(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    toy_bert(tmp_path / "bert")
    capfd.readouterr()
    bert = load_transformer(tmp_path / "bert", pooling="mean", normalize=True)
    folder = exported(bert, tmp_path / "export")  # without the pooler's weights
    xsent.load_encoder(folder)
    assert "".join(capfd.readouterr()) == ""
    # sentence-transformers passes these options on, so that transformers has nothing to report there.
    options = json.loads((folder / "sentence_bert_config.json").read_text())["model_args"]
    _, report = AutoModel.from_pretrained(folder, **options, output_loading_info=True)
    assert not report["missing_keys"]


def test_a_folder_cannot_allow_its_own_code(tmp_path: Path) -> None:
    folder = toy_bert(tmp_path / "bert")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoModel": "own.Model"}, "trust_remote_code": True}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text("raise SystemExit")
    with pytest.raises(ValueError, match=r"needs Python code of its own \(own.Model\)"):
        xsent.load_encoder(folder)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("labes", "no encoder 'labes': expected character_bert, .*; did you mean labse?"),
        ("intfloat/multilingual-e5-base", "did you mean e5_base?"),
        ("some/model", "hf download some/model --local-dir FOLDER"),
        ("no/such/run/best.ckpt", "no encoder 'no/such/run/best.ckpt'"),
        ("laser2", "laser2 is not on the hub: fetch laser2.pt"),
    ],
)
def test_a_source_that_cannot_be_loaded_is_named_with_the_remedy(source: str, message: str) -> None:
    with pytest.raises(FileNotFoundError, match=message):
        xsent.load_encoder(source)


def test_a_folder_without_a_model_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"expected checkpoints/ \(a run\), modules.json .* found notes.txt"):
        xsent.load_encoder(tmp_path)


def test_an_impossible_device_is_refused_first() -> None:
    with pytest.raises(ValueError, match="device 'tpu9' cannot be used"):
        xsent.load_encoder("mini", device="tpu9")


def test_a_folder_as_encoder_of_a_config_is_told_the_way(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"ckpt={tmp_path}"):
        read_command("evaluate", [f"encoder={tmp_path}"])
    with pytest.raises(ValueError, match=r"did you mean labse\?"):
        read_command("evaluate", ["encoder=labsee"])


def test_the_table_of_encoders_fits_a_screen_and_agrees_with_the_encoders() -> None:
    entries = {entry.name: entry for entry in encoders()}
    assert max(map(len, str(encoders()).splitlines())) <= 80
    assert str(encoders()).splitlines()[0].split() == ["name", "dim", "languages", "origin"]
    assert entries["labse_raw"][1:5] == (768, "109", "hub: sentence-transformers/LaBSE", "Apache-2.0")
    assert entries["e5_large"].dim == 1024  # its own, not that of the file it takes over
    for name in (*BUNDLED, "tiny", "static_characters"):
        assert xsent.load_encoder(name).encode("a").shape == (entries[name].dim,)
    assert all(entry.about and "\n" not in entry.about for entry in entries.values())


def test_the_bundled_judge_scores_pairs_and_is_no_encoder() -> None:
    judge = xsent.load_judge()
    pairs = [("The cat sleeps on the sofa.", "Le chat dort sur le canapé."), ("Yes.", "Le train part à midi.")]
    same, other = xsent.score(pairs, encoder=judge)
    assert same > other
    with pytest.raises(ValueError, match="an alignment judge, which judges pairs and has no sentence vectors"):
        xsent.load_encoder(bundled_judge())


def saved_judge(folder: Path) -> Path:
    shutil.copytree(bundled_judge(), folder)
    return folder


def test_a_saved_judge_gives_the_same_scores(tmp_path: Path) -> None:
    judge: Any = xsent.load_judge()
    judge.save(tmp_path)
    again = xsent.load_judge(tmp_path)
    assert again.digest() == judge.digest()
    pair = WordPair(("a", "cat"), ("un", "chat"))
    assert again.judge([pair])[0].score == judge.judge([pair])[0].score


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"mini"', '"/etc"', "encoder '/etc': expected a name of xsent.encoders()"),
        ('{\n  "encoder": "', '{\n  "encoder": "be', "the judge was trained on an encoder with digest be"),
        ('"hidden": 48', '"hidden": 1000000000', "hidden=1000000000 and 23 features: its weights are for 48 and 23"),
        ('"hidden"', '"size"', "no 'hidden'"),
        ('"options"', '"choices"', "no 'options'"),
    ],
)
def test_a_changed_judge_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    folder = saved_judge(tmp_path / "judge")
    text = (folder / "judge.json").read_text()
    assert old in text
    (folder / "judge.json").write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        xsent.load_judge(folder)
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)
