"""What the names in printed commands stand for: ``BITEXT``, ``text.de``, ``runs/oracle/TIME``, each made small.

A command runs as it is printed, in a folder that has files of exactly these names. A page that needs another name
needs a maker here, and nothing else. All is written for these tests or drawn from a seed.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock

from tests.helpers import CONCEPTS, ROOT, _say, config, toy_divergences, toy_labelled, toy_overrides

Maker = Callable[[Path, "Store"], object]
PLACEHOLDERS: dict[str, Maker] = {}  # files and folders that pages name
MODELS: dict[str, Maker] = {}  # what stands in for a download, which no page names
# The letter of a made-up language, by the two-letter code of the real one whose name it goes by; English has e.
LETTERS = {"ar": "a", "ay": "y", "de": "d", "es": "s", "fr": "f", "gn": "g", "it": "i", "ja": "j", "nl": "n", "pt": "p",
           "ro": "r", "zh": "z"}  # fmt: skip
THREE = {"ara": "ar", "deu": "de", "fra": "fr", "ita": "it", "jpn": "ja", "nld": "nl", "por": "pt", "ron": "ro",
         "spa": "es", "cmn": "zh"}  # fmt: skip
GERMAN = [
    "Der Hund schläft vor dem Haus.",
    "Wir essen heute frisches Brot.",
    "Das Haus ist alt und rot.",
    "Am Montag regnet es in Berlin.",
    "Drei Kinder spielen im Garten.",
    "Meine Schwester kauft zwei Bücher.",
]
ENGLISH = [
    "The dog sleeps in front of the house.",
    "We eat fresh bread today.",
    "The house is old and red.",
    "On Monday it rains in Berlin.",
    "Three children play in the garden.",
    "My sister buys two books.",
]
FRENCH = [
    "Le chien dort devant la maison.",
    "Nous mangeons du pain frais aujourd'hui.",
    "La maison est vieille et rouge.",
    "Lundi il pleut à Berlin.",
    "Trois enfants jouent dans le jardin.",
    "Ma sœur achète deux livres.",
]


class Store:
    """Makes each thing once, for all tests and all processes of pytest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str) -> Path:
        """Where the thing of that name lies.

        Raises:
            KeyError: nobody knows how to make it.
        """
        make = (PLACEHOLDERS | MODELS)[name]
        path = self.folder / name.strip("/").replace("/", "--")  # a name may lie below another
        done = path.with_name(f"{path.name}.done")
        with FileLock(f"{path}.lock"):
            if not done.exists():
                shutil.rmtree(path, ignore_errors=True)  # what a maker that failed has left
                make(path, self)
                done.touch()
        return path

    def copy_to(self, folder: Path, name: str) -> None:
        """Put a copy where a command will look for it."""
        found, copy = self.get(name), folder / name
        if copy.exists():
            return
        copy.parent.mkdir(parents=True, exist_ok=True)
        if found.is_dir():
            shutil.copytree(found, copy)
        else:
            shutil.copy(found, copy)


def made(*names: str, models: bool = False) -> Callable[[Maker], Maker]:
    """Say that a function makes what goes by one of these names."""

    def enter(make: Maker) -> Maker:
        (MODELS if models else PLACEHOLDERS).update(dict.fromkeys(names, make))
        return make

    return enter


def write(path: Path, lines: Iterable[str]) -> None:
    """Write lines, and the folders above them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def english(count: int) -> list[str]:
    """Different English sentences, each with a name, a place and a number."""
    rng = random.Random(0)
    names, places = ("Anna", "Paul", "Mary", "John", "Laura"), ("Paris", "London", "Berlin", "Madrid", "Rome")
    things = ("red cars", "old books", "small houses", "good friends", "cold drinks")
    return [
        f"In {1950 + number % 70} my friend {rng.choice(names)} saw {2 + number} {rng.choice(things)} in"
        f" {rng.choice(places)}, but did not tell anyone about it."
        for number in range(count)
    ]


# ---- bitexts, plain text, test sets of translations


@made("BITEXT")
def bitext(path: Path, store: Store) -> None:
    """Twelve made-up languages with English, whose words correspond one to one."""
    rng = random.Random(0)
    for code, letter in LETTERS.items():
        concepts = [[rng.randrange(CONCEPTS) for _ in range(4)] for _ in range(60)]
        write(path / f"en-{code}.tsv", (f"{_say('e', row)}\t{_say(letter, row)}\ttoy" for row in concepts))


@made("text.de", "news.de")
def german_text(path: Path, store: Store) -> None:
    write(path, GERMAN)


@made("text.en", "news.en", "clean.en")
def english_text(path: Path, store: Store) -> None:
    write(path, ENGLISH)


@made("text.fr")
def french_text(path: Path, store: Store) -> None:
    write(path, FRENCH)


@made("bitext.tsv", "text.en-fr.tsv")
def french_pairs(path: Path, store: Store) -> None:
    write(path, map("\t".join, zip(ENGLISH, FRENCH, strict=True)))


@made("pairs.tsv")
def german_pairs(path: Path, store: Store) -> None:
    write(path, map("\t".join, zip(ENGLISH, GERMAN, strict=True)))


@made("CLEAN.txt", "eng_Latn.dev")
def clean_text(path: Path, store: Store) -> None:
    write(path, english(120 if path.name == "CLEAN.txt" else 12))


@made("CLEAN")
def clean_folder(path: Path, store: Store) -> None:
    write(path / "clean.txt", english(120))


@made("TATOEBA")
def tatoeba(path: Path, store: Store) -> None:
    """Test files of all languages that any evaluator asks for."""
    files = (ROOT / "conf" / "evaluator" / f"{name}.yaml" for name in ("tatoeba", "tatoeba14", "tatoeba36"))
    for code in {code for file in files for code in yaml.safe_load(file.read_text(encoding="utf-8"))["languages"]}:
        rows = [[(3 * n + k) % CONCEPTS for k in range(4)] for n in range(8)]
        letter = LETTERS.get(THREE.get(code, ""), "x")
        write(path / f"tatoeba.{code}-eng.{code}", (_say(letter, row) for row in rows))
        write(path / f"tatoeba.{code}-eng.eng", (_say("e", row) for row in rows))


@made("MUSE")
def muse(path: Path, store: Store) -> None:
    for code in ("ar", "de", "es", "fr", "it", "nl", "pt", "ro"):
        words = ((_say(LETTERS[code], [n]), _say("e", [n])) for n in range(CONCEPTS))
        write(path / f"{code}-en.txt", map(" ".join, words))


@made("FLORES")
def flores(path: Path, store: Store) -> None:
    write(path / "eng_Latn.dev", english(12))
    write(path / "deu_Latn.dev", (f"Satz {number}: {GERMAN[number % 6]}" for number in range(12)))
    write(path / "fra_Latn.dev", (f"Phrase {number} : {FRENCH[number % 6]}" for number in range(12)))


@made("AUGMENTED")
def augmented(path: Path, store: Store) -> None:
    from xsent.data.xsimpp import augment_file
    from xsent.run import load_config

    path.mkdir(parents=True)
    augment_file(store.get("FLORES") / "eng_Latn.dev", path / "eng_Latn", **load_config("augment", []))


@made("BUCC")
def bucc(path: Path, store: Store) -> None:
    write(path / "zh-en.dev.zh", (f"zh-{n}\t{line}" for n, line in enumerate(GERMAN)))
    write(path / "zh-en.dev.en", (f"en-{n}\t{line}" for n, line in enumerate(ENGLISH)))
    write(path / "zh-en.dev.gold", (f"zh-{n}\ten-{n}" for n in range(6)))


# ---- labelled and scored pairs


def scored() -> list[tuple[str, str, float]]:
    """Pairs of English sentences, the more alike the higher the score."""
    return [(one, ENGLISH[(n + shift) % 6], 5.0 - 2 * shift) for shift in range(3) for n, one in enumerate(ENGLISH)]


@made("STS17")
def sts17(path: Path, store: Store) -> None:
    for pair in ("ar-ar", "en-en", "en-de"):
        write(path / f"STS.{pair}.txt", (f"{one}\t{other}\t{score}" for one, other, score in scored()))


@made("STSB")
def stsb(path: Path, store: Store) -> None:
    for part in ("dev", "test"):
        rows = (f"news\tfile\t2017\t{n}\t{score}\t{one}\t{other}" for n, (one, other, score) in enumerate(scored()))
        write(path / f"sts-{part}.csv", rows)


def labelled(count: int) -> list[tuple[str, str, int]]:
    """Pairs of sentences that share a subject, of which every other one is a paraphrase."""
    rows = english(count)
    return [
        (one, one.replace("saw", "met").replace("my friend", "a friend of mine"), 1)
        if number % 2
        else (one, one.replace("did not", "did"), 0)
        for number, one in enumerate(rows)
    ]


@made("PAIRS.tsv")
def labelled_file(path: Path, store: Store) -> None:
    toy_labelled(path.with_suffix(".folder"), groups=120)
    shutil.move(path.with_suffix(".folder") / "train.tsv", path)


@made("PAWSX")
def pawsx(path: Path, store: Store) -> None:
    for code in ("de", "en", "es", "fr", "ja", "ko", "zh"):
        train = "train" if code == "en" else "translated_train"
        for name, start, end in ((train, 0, 60), ("dev_2k", 60, 90), ("test_2k", 90, 120)):
            rows = enumerate(labelled(120)[start:end], start=1)
            lines = (f"{n}\t{code} {one}\t{code} {other}\t{label}" for n, (one, other, label) in rows)
            write(path / code / f"{name}.tsv", ["id\tsentence1\tsentence2\tlabel", *lines])


@made("MSRP")
def msrp(path: Path, store: Store) -> None:
    for part, start, end in (("train", 0, 80), ("test", 80, 110)):
        rows = enumerate(labelled(110)[start:end])
        lines = (f"{label}\t{2 * n}\t{2 * n + 1}\t{one}\t{other}" for n, (one, other, label) in rows)
        write(path / f"msr_paraphrase_{part}.txt", ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", *lines])


@made("DATA")
def data_folder(path: Path, store: Store) -> None:
    for name in ("TATOEBA", "STSB", "STS17", "BUCC"):
        shutil.copytree(store.get(name), path / name.lower())
    shutil.copytree(store.get("MTEB"), path, dirs_exist_ok=True)


@made("MTEB")
def mteb(path: Path, store: Store) -> None:
    tweets = [{"text": text, "label": number % 2} for number, text in enumerate(english(40))]
    pairs = {"sent1": ENGLISH * 2, "sent2": [*ENGLISH, *reversed(ENGLISH)], "labels": [1] * 6 + [0] * 6}
    similar = [{"sentence1": one, "sentence2": other, "score": score} for one, other, score in scored()]
    tasks: dict[str, dict[str, Sequence[object]]] = {
        "TweetSentimentExtractionClassification": {"train": tweets, "test": tweets[:10]},
        "TwitterSemEval2015": {"test": [pairs]},
        "TwitterURLCorpus": {"test": [pairs]},
        "STSBenchmark": {"test": similar},
    }
    for task, splits in tasks.items():
        for split, rows in splits.items():
            write(path / task / f"{split}.jsonl", map(json.dumps, rows))


# ---- divergences


@made("DIVERGENCES.jsonl", "divergences.jsonl", "MADE.jsonl")
def divergences(path: Path, store: Store) -> None:
    toy_divergences(path, seeds=80)


@made("seeds/", "folder/")
def seeds(path: Path, store: Store) -> None:
    """Two sentences, parsed and aligned."""
    from tests.jobs.test_diverge import write_parsed

    write_parsed(path)


@made("seeds.en.conllu", "seeds.fr.conllu", "seeds.align")
def seed_file(path: Path, store: Store) -> None:
    shutil.copy(store.get("seeds/") / path.name.replace("seeds", "two"), path)


@made("REFRESD")
def refresd(path: Path, store: Store) -> None:
    header = "#label\t#1ID\t#2ID\t#english_sentence\t#french_sentence\t#english_rational\t#french_rationale"
    rows = []
    for number in range(12):
        divergent = number % 2
        one, other = ENGLISH[number % 6], FRENCH[(number + 2 * divergent) % 6]
        marks = (" ".join(["2" if divergent else "0"] * len(text.split())) for text in (one, other))
        rows.append("\t".join([str(divergent), str(2 * number), str(2 * number + 1), one, other, *marks]))
    write(path / "test.tsv", [header, *rows])


@made("SEMDIVERGE")
def semdiverge(path: Path, store: Store) -> None:
    rows = [(ENGLISH[n % 6], FRENCH[(n + n % 2) % 6], 1 - n % 2) for n in range(12)]
    for name in ("opensubs", "commoncrawl"):
        write(path / f"{name}.test", (f"{one} \t{other} \t{label} \t1.0" for one, other, label in rows))


# ---- distractors


@made("news.jsonl")
def distractors(path: Path, store: Store) -> None:
    rows = (
        {"id": str(n), "texts": {"deu": text}, "distractors": {"deu": [f"{text[:-1]} nicht.", f"Nie: {text}"]}}
        for n, text in enumerate(GERMAN)
    )
    write(path, (json.dumps(row, ensure_ascii=False) for row in rows))


@made("CLSD")
def clsd(path: Path, store: Store) -> None:
    """The released form: distractors in both languages, their translations, and the swapped words."""
    header = "Index,French,German,de_adv1,de_adv2,fr_adv1,fr_adv2"
    released = "CLSD_wmt2019_adversarial_dataset.csv"
    german = [(text, text.replace(text.split()[1], "nie", 1), f"Nie {text}") for text in GERMAN]
    french = [(text, text.replace(text.split()[1], "jamais", 1), f"Jamais {text}") for text in FRENCH]
    rows = [
        ",".join([str(n), f[0], d[0], d[1], d[2], f[1], f[2]])
        for n, (d, f) in enumerate(zip(german, french, strict=True))
    ]
    write(path / released, [header, *rows])
    translated = (",".join([str(n), str(n), text, text, "a", "b", "c", "d"]) for n, text in enumerate(ENGLISH))
    write(path / f"MT_M2M_{released}", [f",{header}", *translated])
    columns = [
        "Dataset",
        "Operation",
        "OriginalTextFrench",
        "Details",
        "EntityType",
        "POSTag",
        "SemanticallyEquivalent",
        "OriginalTextGerman",
        "AdversarialText",
        "AdversarialExample",
        "RowIndex",
    ]
    for code, texts in (("de", german), ("fr", french)):
        swaps = []
        for n, (text, other, _) in enumerate(texts):
            said = f"Swap: '{text.split()[1]}' with '{other.split()[1]}'"
            values = [
                "wmt19",
                "Swap",
                FRENCH[n],
                said,
                "",
                ("NOUN", "VERB", "ADJ", "PROPN")[n % 4],
                "0",
                GERMAN[n],
                other,
            ]
            swaps.append("\t".join([*values, f"{code}_adv1", str(n)]))
        write(path / f"{code.upper()}_wmt1921_swaps_ner_pos.tsv", ["\t".join(columns), *swaps])


# ---- noisy text


@made("ROCSMT")
def rocsmt(path: Path, store: Store) -> None:
    standard = english(12)
    noisy = [text.replace("you", "u").replace("tell", "tel").replace("about", "abt") for text in standard]
    write(path / "RoCS-MT.src.raw-manseg.en", noisy)
    write(path / "RoCS-MT.src.norm-manseg.en", standard)
    for code in ("de", "fr"):
        write(path / f"RoCS-MT.ref.{code}", (f"{code} {text}" for text in standard))


@made("LEXNORM.json")
def lexnorm(path: Path, store: Store) -> None:
    words = [text.lower().split() for text in english(12)]
    noisy = [["abt" if word == "about" else word for word in row] for row in words]
    path.write_text(json.dumps([{"input": one, "output": two} for one, two in zip(noisy, words, strict=True)]))


# ---- models


@made("bert", models=True)
def bert(path: Path, store: Store) -> None:
    """A random BERT that spells words, of any length that a config asks for."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters), *".,!?'"]
    path.mkdir(parents=True)
    write(path / "vocab.txt", pieces)
    BertTokenizerFast(vocab=str(path / "vocab.txt"), model_max_length=512).save_pretrained(path)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 32}
    # The usual standard deviation of 0.02 would make all sentences alike.
    shape = BertConfig(vocab_size=len(pieces), max_position_embeddings=514, initializer_range=0.5, **size)
    BertModel(shape).save_pretrained(path)


@made("MINILM", "models/small")
@made("sentence_transformer", models=True)
def sentence_transformer(path: Path, store: Store) -> None:
    """The same in the layout of sentence-transformers: the mean of the tokens, of length one."""
    shutil.copytree(store.get("bert"), path)
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": n, "name": str(n), "path": folder, "type": f"sentence_transformers.models.{kind}"}
        for n, (folder, kind) in enumerate(kinds.items())
    ]
    (path / "1_Pooling").mkdir()
    (path / "modules.json").write_text(json.dumps(modules))
    (path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 128, "do_lower_case": False}))
    pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    (path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))


@made("LASER2")
@made("laser2", models=True)
def laser2(path: Path, store: Store) -> None:
    """The three files of a random LASER2 in one: weights, pieces, and the dictionary among the weights."""
    import sentencepiece
    import torch

    from xsent.models.laser import SPECIAL, LaserEncoder

    path.mkdir(parents=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text.lower() for text in english(60)]), model_prefix=str(path / "laser2"),
        vocab_size=60, model_type="unigram", num_threads=1, minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    (path / "laser2.vocab").unlink()
    (path / "laser2.model").rename(path / "laser2.spm")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(path / "laser2.spm"))
    names = [*SPECIAL, *(pieces.id_to_piece(number) for number in range(3, len(pieces)))]
    params: dict[str, Any] = {
        "num_embeddings": len(names), "embed_dim": 8, "hidden_size": 8, "num_layers": 1, "bidirectional": True,
    }  # fmt: skip
    dictionary = {piece: number for number, piece in enumerate(names)}
    torch.manual_seed(0)
    encoder = LaserEncoder(
        name="laser2", params=params, dictionary=dictionary, pieces=(path / "laser2.spm").read_bytes(),
        max_length=None, normalize=False,
    )  # fmt: skip
    torch.save({"params": params, "dictionary": dictionary, "model": encoder.state_dict()}, path / "laser2.pt")


@made("character_bert", models=True)
def character_bert(path: Path, store: Store) -> None:
    from tests.models.test_character_bert import published_weights
    from tests.models.test_character_bert import write as write_model

    write_model(path, published_weights())


@made("m2m100", models=True)
def translator(path: Path, store: Store) -> None:
    from tests.models.small_translators import save_m2m100

    save_m2m100(path)
    config_file = path / "config.json"  # positions are computed, not learned: there may be as many as a config asks for
    settings = json.loads(config_file.read_text(encoding="utf-8")) | {"max_position_embeddings": 300}
    config_file.write_text(json.dumps(settings), encoding="utf-8")


@made("wordnet", models=True)
def wordnet(path: Path, store: Store) -> None:
    from tests.text.divergences.helpers import write_wordnet

    write_wordnet(path)


@made("models/mine")
def static_encoder(path: Path, store: Store) -> None:
    shutil.copytree(ROOT / "xsent" / "assets" / "mini", path)


@made("models/meaning")
def exported(path: Path, store: Store) -> None:
    """The meaning vectors of a run as sentence-transformers and onnxruntime read them."""
    from xsent.cli import main

    assert main(["export", str(store.get("runs/oracle/TIME")), "-o", str(path), "--onnx"]) == 0


# ---- runs


def run(*overrides: str) -> Maker:
    """What train.py leaves after one short epoch; ``{NAME}`` in an override is a thing of the store."""

    def make(path: Path, store: Store) -> None:
        from xsent.run import train

        given = [re.sub(r"{(.+)}", lambda name: str(store.get(name[1])), override) for override in overrides]
        more = ["trainer.max_epochs=1", "trainer.enable_progress_bar=false", "pictures=none"]
        scratch = store.folder / "scratch" / path.name
        train(config("train", scratch, *given, *more))
        shutil.move(scratch / "run", path)

    return make


HEADS = ("encoder=mini", *toy_overrides(Path("{BITEXT}")))
PLACEHOLDERS |= {
    "runs/oracle/TIME": run("recipe=oracle", *HEADS),
    "runs/short": run("recipe=oracle", *HEADS),
    "runs/demo": run("recipe=oracle", *HEADS),
    "runs/dream/TIME": run("recipe=dream", *HEADS),
    "runs/meat/TIME": run("recipe=meat", *HEADS),
    "runs/labse/TIME": run(
        "recipe=labse", *HEADS, "encoder=static", "encoder.dim=32", "encoder.vocab_size=300",
        "recipe.tokenizer_sentences=500",
    ),
    "runs/paraphrase/TIME": run(
        "recipe=paraphrase", "encoder=labse", "encoder.path={bert}", "data.root={PAWSX}", "data.global_batch_size=8",
        "recipe.mining.mini_batches=2",
    ),
    "runs/rolaser/TIME": run(
        "recipe=rolaser", "encoder=roberta", "encoder.path={bert}", "recipe.teacher_path={laser2}",
        "data.root={CLEAN.txt}", "data.global_batch_size=8", "data.valid_share=0.1", "data.test_share=0.1",
        "data.noise_workers=1", "encoder.max_length=128",
    ),
    "runs/divergence/TIME": run(
        "recipe=divergence", "encoder=mbert", "encoder.path={bert}", "data.root={DIVERGENCES.jsonl}",
        "data.train_seeds=20", "data.valid_seeds=10", "data.test_seeds=10", "data.global_batch_size=8",
    ),
}  # fmt: skip
