"""Small files, models and runs for the names in documented commands: ``BITEXT``, ``text.de``, ``runs/oracle``.

Commands run as printed, in a folder with files of these names. A page that uses a new name needs a new maker here.
All content is written for these tests or drawn from a seed.
"""

import json
import random
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock

from tests.helpers import (
    CONCEPTS,
    ROOT,
    config,
    toy_divergences,
    toy_labelled,
    toy_overrides,
    toy_words,
    write_nl_augmenter,
)

Maker = Callable[[Path, "Store"], object]
PLACEHOLDERS: dict[str, Maker] = {}  # files and folders that pages name
MODELS: dict[str, Maker] = {}  # what stands in for a download, which no page names
# The letter of a made-up language by the ISO 639-1 code that it stands for; English has e.
LETTERS = {
    "ar": "a",
    "ay": "y",
    "de": "d",
    "es": "s",
    "fr": "f",
    "gn": "g",
    "it": "i",
    "ja": "j",
    "nl": "n",
    "pt": "p",
    "ro": "r",
    "zh": "z",
}
THREE = {
    "ara": "ar",
    "deu": "de",
    "fra": "fr",
    "ita": "it",
    "jpn": "ja",
    "nld": "nl",
    "por": "pt",
    "ron": "ro",
    "spa": "es",
    "cmn": "zh",
}
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
    """Builds each example once for all tests and processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str) -> Path:
        """Path of an example.

        Raises:
            KeyError: nobody knows how to make it.
        """
        make = (PLACEHOLDERS | MODELS)[name]
        path = self.folder / name.strip("/").replace("/", "--")  # a name may lie below another
        marker = path.with_name(f"{path.name}.done")
        with FileLock(f"{path}.lock"):
            if not marker.exists():
                shutil.rmtree(path, ignore_errors=True)  # what a maker that failed has left
                make(path, self)
                marker.touch()
        return path

    def copy_to(self, folder: Path, name: str) -> None:
        """Copy an example to where a command expects it."""
        original, copy = self.get(name), folder / name
        if copy.exists():
            return
        copy.parent.mkdir(parents=True, exist_ok=True)
        if original.is_dir():
            shutil.copytree(original, copy)
        else:
            shutil.copy(original, copy)


def maker_of(*names: str, models: bool = False) -> Callable[[Maker], Maker]:
    """Register a function as the maker of these names."""

    def enter(make: Maker) -> Maker:
        (MODELS if models else PLACEHOLDERS).update(dict.fromkeys(names, make))
        return make

    return enter


def write(path: Path, lines: Iterable[str]) -> None:
    """Write lines, creating parent folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def english(count: int) -> list[str]:
    """Distinct English sentences with a name, a city and a number."""
    rng = random.Random(0)
    names, cities = ("Anna", "Paul", "Mary", "John", "Laura"), ("Paris", "London", "Berlin", "Madrid", "Rome")
    objects = ("red cars", "old books", "small houses", "good friends", "cold drinks")
    return [
        f"In {1950 + number % 70} my friend {rng.choice(names)} saw {2 + number} {rng.choice(objects)} in"
        f" {rng.choice(cities)}, but did not tell anyone about it."
        for number in range(count)
    ]


# ---- bitexts, plain text, test sets of translations


@maker_of("BITEXT")
def bitext(path: Path, store: Store) -> None:
    """Twelve made-up languages, aligned with English word by word."""
    rng = random.Random(0)
    for code, letter in LETTERS.items():
        concepts = [[rng.randrange(CONCEPTS) for _ in range(4)] for _ in range(60)]
        write(path / f"en-{code}.tsv", (f"{toy_words('e', row)}\t{toy_words(letter, row)}\ttoy" for row in concepts))


@maker_of("text.de", "news.de")
def german_text(path: Path, store: Store) -> None:
    write(path, GERMAN)


@maker_of("text.en", "news.en", "clean.en")
def english_text(path: Path, store: Store) -> None:
    write(path, ENGLISH)


@maker_of("english.txt")
def long_text(path: Path, store: Store) -> None:
    """Enough text for frequent words."""
    write(path, [*ENGLISH, "I saw a cat, a dog and a bird.", "I am a teacher and I like a joke!"] * 50)


@maker_of("text.fr")
def french_text(path: Path, store: Store) -> None:
    write(path, FRENCH)


@maker_of("bitext.tsv", "text.en-fr.tsv")
def french_pairs(path: Path, store: Store) -> None:
    write(path, map("\t".join, zip(ENGLISH, FRENCH, strict=True)))


@maker_of("page.en.txt", "page.fr.txt", "pages.tsv")
def documents(path: Path, store: Store) -> None:
    if path.suffix == ".tsv":
        write(path, ["\t".join(map(" ".join, (ENGLISH, FRENCH)))])
    else:
        write(path, ENGLISH if ".en." in path.name else FRENCH)


@maker_of("pairs.tsv")
def german_pairs(path: Path, store: Store) -> None:
    write(path, map("\t".join, zip(ENGLISH, GERMAN, strict=True)))


@maker_of("CLEAN.txt", "eng_Latn.dev")
def clean_text(path: Path, store: Store) -> None:
    write(path, english(120 if path.name == "CLEAN.txt" else 12))


@maker_of("CLEAN")
def clean_folder(path: Path, store: Store) -> None:
    write(path / "clean.txt", english(120))


@maker_of("TATOEBA")
def tatoeba(path: Path, store: Store) -> None:
    """Test files of all languages that an evaluator reads."""
    files = (ROOT / "conf" / "evaluator" / f"{name}.yaml" for name in ("tatoeba", "tatoeba14", "tatoeba36"))
    for code in {code for file in files for code in yaml.safe_load(file.read_text(encoding="utf-8"))["languages"]}:
        rows = [[(3 * n + k) % CONCEPTS for k in range(4)] for n in range(8)]
        letter = LETTERS.get(THREE.get(code, ""), "x")
        write(path / f"tatoeba.{code}-eng.{code}", (toy_words(letter, row) for row in rows))
        write(path / f"tatoeba.{code}-eng.eng", (toy_words("e", row) for row in rows))


@maker_of("MUSE")
def muse(path: Path, store: Store) -> None:
    for code in ("ar", "de", "es", "fr", "it", "nl", "pt", "ro"):
        words = ((toy_words(LETTERS[code], [n]), toy_words("e", [n])) for n in range(CONCEPTS))
        write(path / f"{code}-en.txt", map(" ".join, words))


@maker_of("FLORES")
def flores(path: Path, store: Store) -> None:
    write(path / "eng_Latn.dev", english(12))
    write(path / "deu_Latn.dev", (f"Satz {number}: {GERMAN[number % 6]}" for number in range(12)))
    write(path / "fra_Latn.dev", (f"Phrase {number} : {FRENCH[number % 6]}" for number in range(12)))


@maker_of("AUGMENTED")
def augmented(path: Path, store: Store) -> None:
    from xsent.jobs.synthesis.augment import augment_file
    from xsent.run import load_config

    path.mkdir(parents=True)
    augment_file(store.get("FLORES") / "eng_Latn.dev", path / "eng_Latn", **load_config("augment", []))


@maker_of("BUCC")
def bucc(path: Path, store: Store) -> None:
    write(path / "zh-en.dev.zh", (f"zh-{n}\t{line}" for n, line in enumerate(GERMAN)))
    write(path / "zh-en.dev.en", (f"en-{n}\t{line}" for n, line in enumerate(ENGLISH)))
    write(path / "zh-en.dev.gold", (f"zh-{n}\ten-{n}" for n in range(6)))


# ---- labelled and scored pairs


def scored() -> list[tuple[str, str, float]]:
    """Pairs of English sentences; higher scores for more similar pairs."""
    return [(first, ENGLISH[(n + shift) % 6], 5.0 - 2 * shift) for shift in range(3) for n, first in enumerate(ENGLISH)]


@maker_of("STS17")
def sts17(path: Path, store: Store) -> None:
    for pair in ("ar-ar", "en-en", "en-de"):
        write(path / f"STS.{pair}.txt", (f"{first}\t{second}\t{score}" for first, second, score in scored()))


@maker_of("STSB")
def stsb(path: Path, store: Store) -> None:
    for part in ("dev", "test"):
        rows = (
            f"news\tfile\t2017\t{n}\t{score}\t{first}\t{second}" for n, (first, second, score) in enumerate(scored())
        )
        write(path / f"sts-{part}.csv", rows)


def labelled(count: int) -> list[tuple[str, str, int]]:
    """Pairs with a shared subject; every second pair is a paraphrase."""
    rows = english(count)
    return [
        (first, first.replace("saw", "met").replace("my friend", "a friend of mine"), 1)
        if number % 2
        else (first, first.replace("did not", "did"), 0)
        for number, first in enumerate(rows)
    ]


@maker_of("PAIRS.tsv")
def labelled_file(path: Path, store: Store) -> None:
    toy_labelled(path.with_suffix(".folder"), groups=120)
    shutil.move(path.with_suffix(".folder") / "train.tsv", path)


@maker_of("PAIRS.csv")
def labelled_csv(path: Path, store: Store) -> None:
    write(
        path,
        ["sentence1,sentence2,label", *(f'"{first}","{second}",{label}' for first, second, label in labelled(200))],
    )


@maker_of("SCORES.tsv")
def scores_file(path: Path, store: Store) -> None:
    write(path, (f"{1.5 + 3 * label}\t{first}\t{second}" for first, second, label in labelled(200)))


@maker_of("LINES.jsonl")
def translations(path: Path, store: Store) -> None:
    write(
        path,
        (json.dumps({"english": text, "german": text.replace("my friend", "mein Freund")}) for text in english(200)),
    )


@maker_of("PAWSX")
def pawsx(path: Path, store: Store) -> None:
    for code in ("de", "en", "es", "fr", "ja", "ko", "zh"):
        train = "train" if code == "en" else "translated_train"
        for name, start, end in ((train, 0, 60), ("dev_2k", 60, 90), ("test_2k", 90, 120)):
            rows = enumerate(labelled(120)[start:end], start=1)
            lines = (f"{n}\t{code} {first}\t{code} {second}\t{label}" for n, (first, second, label) in rows)
            write(path / code / f"{name}.tsv", ["id\tsentence1\tsentence2\tlabel", *lines])


@maker_of("PAWSX_DEV")
def pawsx_dev(path: Path, store: Store) -> None:
    for code in ("de", "en", "es", "fr", "ja", "ko", "zh"):
        rows = labelled(120)
        write(path / f"dev-{code}.tsv", (f"{code} {first}\t{code} {second}\t{label}" for first, second, label in rows))


@maker_of("MSRP")
def msrp(path: Path, store: Store) -> None:
    for part, start, end in (("train", 0, 80), ("test", 80, 110)):
        rows = enumerate(labelled(110)[start:end])
        lines = (f"{label}\t{2 * n}\t{2 * n + 1}\t{first}\t{second}" for n, (first, second, label) in rows)
        write(path / f"msr_paraphrase_{part}.txt", ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", *lines])


@maker_of("DATA")
def data_folder(path: Path, store: Store) -> None:
    for name in ("TATOEBA", "STSB", "STS17", "BUCC"):
        shutil.copytree(store.get(name), path / name.lower())
    shutil.copytree(store.get("MTEB"), path, dirs_exist_ok=True)


@maker_of("MTEB")
def mteb(path: Path, store: Store) -> None:
    tweets = [{"text": text, "label": number % 2} for number, text in enumerate(english(40))]
    pairs = {"sent1": ENGLISH * 2, "sent2": [*ENGLISH, *reversed(ENGLISH)], "labels": [1] * 6 + [0] * 6}
    similar = [{"sentence1": first, "sentence2": second, "score": score} for first, second, score in scored()]
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


@maker_of("DIVERGENCES.jsonl", "divergences.jsonl", "MADE.jsonl")
def divergences(path: Path, store: Store) -> None:
    toy_divergences(path, seeds=80)


@maker_of("plain.jsonl")
def more_divergences(path: Path, store: Store) -> None:
    """Other seeds than those of ``divergences.jsonl``."""
    toy_divergences(path, seeds=160)
    lines = path.read_text(encoding="utf-8").splitlines()
    write(path, lines[len(lines) // 2 :])


@maker_of("seeds/", "folder/")
def seeds(path: Path, store: Store) -> None:
    """Two parsed and aligned sentences."""
    from tests.jobs.synthesis.test_diverge import write_parsed

    write_parsed(path)


@maker_of("seeds.en.conllu", "seeds.fr.conllu", "seeds.align")
def seed_file(path: Path, store: Store) -> None:
    shutil.copy(store.get("seeds/") / path.name.replace("seeds", "two"), path)


@maker_of("REFRESD")
def refresd(path: Path, store: Store) -> None:
    header = "#label\t#1ID\t#2ID\t#english_sentence\t#french_sentence\t#english_rational\t#french_rationale"
    rows = []
    for number in range(12):
        divergent = number % 2
        first, second = ENGLISH[number % 6], FRENCH[(number + 2 * divergent) % 6]
        marks = (" ".join(["2" if divergent else "0"] * len(text.split())) for text in (first, second))
        rows.append("\t".join([str(divergent), str(2 * number), str(2 * number + 1), first, second, *marks]))
    write(path / "test.tsv", [header, *rows])


@maker_of("SEMDIVERGE")
def semdiverge(path: Path, store: Store) -> None:
    rows = [(ENGLISH[n % 6], FRENCH[(n + n % 2) % 6], 1 - n % 2) for n in range(12)]
    for name in ("opensubs", "commoncrawl"):
        write(path / f"{name}.test", (f"{first} \t{second} \t{label} \t1.0" for first, second, label in rows))


@maker_of("SWISSGOV")
def swissgov(path: Path, store: Store) -> None:
    for language, texts in (("de", GERMAN), ("fr", FRENCH)):
        pages = []
        for number in range(3):
            page: dict[str, object] = {}
            for side, sentences in (("a", ENGLISH), ("b", texts)):
                words = " ".join(sentences[number : number + 3]).split()
                page[f"text_{side}"] = " ".join(words)
                page[f"labels_{side}"] = [float(position % 4 == number) for position in range(len(words))]
            pages.append(json.dumps(page, ensure_ascii=False))
        write(path / f"dev.{language}.jsonl", pages)


# ---- distractors


@maker_of("news.jsonl")
def distractors(path: Path, store: Store) -> None:
    rows = (
        {"id": str(n), "texts": {"deu": text}, "distractors": {"deu": [f"{text[:-1]} nicht.", f"Nie: {text}"]}}
        for n, text in enumerate(GERMAN)
    )
    write(path, (json.dumps(row, ensure_ascii=False) for row in rows))


@maker_of("CLSD")
def clsd(path: Path, store: Store) -> None:
    """The released format: distractors in both languages, their translations and the swapped words."""
    from tests.data.test_sets.test_clsd_swaps import COLUMNS

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
    for code, texts in (("de", german), ("fr", french)):
        swaps = []
        for n, (text, second, _) in enumerate(texts):
            annotation = f"Swap: '{text.split()[1]}' with '{second.split()[1]}'"
            values = [
                "wmt19",
                "Swap",
                FRENCH[n],
                annotation,
                "",
                ("NOUN", "VERB", "ADJ", "PROPN")[n % 4],
                "0",
                GERMAN[n],
                second,
            ]
            swaps.append("\t".join([*values, f"{code}_adv1", str(n)]))
        write(path / f"{code.upper()}_wmt1921_swaps_ner_pos.tsv", ["\t".join(COLUMNS), *swaps])


# ---- noisy text


@maker_of("ROCSMT")
def rocsmt(path: Path, store: Store) -> None:
    standard = english(12)
    noisy = [text.replace("you", "u").replace("tell", "tel").replace("about", "abt") for text in standard]
    write(path / "RoCS-MT.src.raw-manseg.en", noisy)
    write(path / "RoCS-MT.src.norm-manseg.en", standard)
    for code in ("de", "fr"):
        write(path / f"RoCS-MT.ref.{code}", (f"{code} {text}" for text in standard))


@maker_of("NLAUGMENTER")
def nl_augmenter(path: Path, store: Store) -> None:
    write_nl_augmenter(path)


@maker_of("LEXNORM.json")
def lexnorm(path: Path, store: Store) -> None:
    words = [text.lower().split() for text in english(12)]
    noisy = [["abt" if word == "about" else word for word in row] for row in words]
    path.write_text(
        json.dumps([{"input": first, "output": standard} for first, standard in zip(noisy, words, strict=True)])
    )


# ---- models


@maker_of("bert", models=True)
def bert(path: Path, store: Store) -> None:
    """A random BERT with letters as pieces."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters), *".,!?'"]
    path.mkdir(parents=True)
    write(path / "vocab.txt", pieces)
    BertTokenizerFast(vocab=str(path / "vocab.txt"), model_max_length=512).save_pretrained(path)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 32}
    # With the usual deviation of 0.02, all sentences would have similar vectors.
    shape = BertConfig(vocab_size=len(pieces), max_position_embeddings=514, initializer_range=0.5, **size)
    BertModel(shape).save_pretrained(path)


@maker_of("MINILM")
@maker_of("sentence_transformer", models=True)
def sentence_transformer(path: Path, store: Store) -> None:
    """The same BERT in the layout of sentence-transformers: mean pooling, normalised."""
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


@maker_of("LASER2")
@maker_of("laser2", models=True)
def laser2(path: Path, store: Store) -> None:
    """The files of a random LASER2: weights with dictionary, and SentencePiece model."""
    import sentencepiece
    import torch

    from xsent.models.encoders.laser import SPECIAL, LaserEncoder

    path.mkdir(parents=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text.lower() for text in english(60)]),
        model_prefix=str(path / "laser2"),
        vocab_size=60,
        model_type="unigram",
        num_threads=1,
        minloglevel=2,
        hard_vocab_limit=False,
    )
    (path / "laser2.vocab").unlink()
    (path / "laser2.model").rename(path / "laser2.spm")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(path / "laser2.spm"))
    names = [*SPECIAL, *(pieces.id_to_piece(number) for number in range(3, len(pieces)))]
    params: dict[str, Any] = {
        "num_embeddings": len(names),
        "embed_dim": 8,
        "hidden_size": 8,
        "num_layers": 1,
        "bidirectional": True,
    }
    dictionary = {piece: number for number, piece in enumerate(names)}
    torch.manual_seed(0)
    encoder = LaserEncoder(
        name="laser2",
        params=params,
        dictionary=dictionary,
        pieces=(path / "laser2.spm").read_bytes(),
        max_length=None,
        normalize=False,
    )
    torch.save({"params": params, "dictionary": dictionary, "model": encoder.state_dict()}, path / "laser2.pt")


@maker_of("character_bert", models=True)
def character_bert(path: Path, store: Store) -> None:
    from tests.models.encoders.characters.test_character_bert import PUBLISHED_FILTERS, published_weights
    from tests.models.encoders.characters.test_character_bert import write as write_model

    write_model(path, published_weights(PUBLISHED_FILTERS))


@maker_of("m2m100", models=True)
def translator(path: Path, store: Store) -> None:
    from tests.models.translation.small_translators import save_m2m100

    save_m2m100(path)
    config_file = path / "config.json"  # positions are computed, not learned: there may be as many as a config asks for
    settings = json.loads(config_file.read_text(encoding="utf-8")) | {"max_position_embeddings": 300}
    config_file.write_text(json.dumps(settings), encoding="utf-8")


@maker_of("wordnet", models=True)
def wordnet(path: Path, store: Store) -> None:
    from tests.text.divergences.helpers import write_wordnet

    write_wordnet(path)


@maker_of("models/mine")
def static_encoder(path: Path, store: Store) -> None:
    shutil.copytree(ROOT / "xsent" / "assets" / "micro", path)


@maker_of("models/transplanted")
def transplanted(path: Path, store: Store) -> None:
    from xsent.cli import main

    assert main(["transplant", "--from", str(store.get("sentence_transformer")), "-o", str(path)]) == 0


@maker_of("models/static")
def distilled(path: Path, store: Store) -> None:
    """Static vectors of all dimensions of the small transformer."""
    from xsent.cli import main

    assert main(["distill-static", str(store.get("MINILM")), "-o", str(path), "--dim", "16"]) == 0


@maker_of("models/meaning")
def exported(path: Path, store: Store) -> None:
    """The meaning head of a run, exported for sentence-transformers and onnxruntime."""
    from xsent.cli import main

    assert main(["export", str(store.get("runs/oracle")), "-o", str(path), "--onnx"]) == 0


# ---- runs


def run(*overrides: str) -> Maker:
    """A run folder after one short epoch; ``{NAME}`` in an override is the path of an example."""

    def make(path: Path, store: Store) -> None:
        from xsent.run import train

        filled = [re.sub(r"{(.+)}", lambda name: str(store.get(name[1])), override) for override in overrides]
        settings = ["trainer.max_epochs=1", "trainer.enable_progress_bar=false", "pictures=null"]
        scratch = store.folder / "scratch" / path.name
        train(config("train", scratch, *filled, *settings))
        shutil.move(scratch / "run", path)

    return make


HEADS = ("encoder=micro", *toy_overrides(Path("{BITEXT}")))
PLACEHOLDERS |= {
    "runs/oracle": run("recipe=oracle", *HEADS),
    "runs/short": run("recipe=oracle", *HEADS),
    "runs/demo": run("recipe=oracle", *HEADS),
    "runs/dream": run("recipe=dream", *HEADS),
    "runs/meat": run("recipe=meat", *HEADS),
    "runs/labse": run(
        "recipe=labse",
        *HEADS,
        "encoder=static",
        "encoder.dim=32",
        "encoder.vocab_size=300",
        "recipe.tokenizer_sentences=500",
    ),
    "runs/paraphrase": run(
        "recipe=paraphrase",
        "encoder=labse",
        "encoder.path={bert}",
        "data.root={PAWSX}",
        "data.global_batch_size=8",
        "recipe.mining.mini_batches=2",
    ),
    "runs/rolaser": run(
        "recipe=rolaser",
        "encoder=roberta",
        "encoder.path={bert}",
        "recipe.teacher_path={laser2}",
        "data.root={CLEAN.txt}",
        "data.global_batch_size=8",
        "data.valid_share=0.1",
        "data.test_share=0.1",
        "data.noise_workers=1",
        "encoder.max_length=128",
    ),
    "runs/divergence": run(
        "recipe=divergence",
        "encoder=mbert",
        "encoder.path={bert}",
        "data.root={DIVERGENCES.jsonl}",
        "data.train_seeds=20",
        "data.valid_seeds=10",
        "data.test_seeds=10",
        "data.global_batch_size=8",
    ),
}
