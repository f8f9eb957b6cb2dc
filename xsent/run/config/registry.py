"""Registry of what a config may build: the targets of each kind, and the keys under which an object of a kind stands.

A new class or function that a config names is one more line of its kind. Nothing is imported here.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from xsent.config_checks import UsageError, suggestion


class Kind(NamedTuple):
    """Objects that may stand at one place of a config."""

    targets: tuple[str, ...] = ()  # importable names; a name of another kind is refused
    parts: Mapping[str, str] = {}  # keys that hold an object, and its kind; ``*``: any key


ENCODERS = (
    "xsent.models.encoders.characters.character_bert.CharacterBertEncoder.load",
    "xsent.models.encoders.characters.static_characters.StaticCharacterEncoder.load",
    "xsent.models.encoders.laser.LaserEncoder.load",
    "xsent.models.encoders.static.StaticEncoder",
    "xsent.models.encoders.static.StaticEncoder.load",
    "xsent.models.encoders.static_embedding.StaticEmbeddingEncoder.load",  # `load_encoder` of such a folder
    "xsent.models.encoders.tiny.TinyEncoder",
    "xsent.models.encoders.transformer.SentenceEncoder.load",
)
LANGUAGE_MARKED = "xsent.models.encoders.language_marking.LanguageMarkedEncoder"
LOAD_ENCODER = "xsent.run.loading.load_encoder"  # `--encoder RUN` of a command; what a run stores cannot name it

KINDS = {
    "config": Kind(
        parts={
            "encoder": "encoder or run",
            "recipe": "recipe",
            "data": "data",
            "evaluator": "evaluator",
            "trainer": "trainer",
            "callbacks": "callbacks",
            "logger": "logger",
            "noise": "noise",
            "annotator": "annotator",
            "target_annotator": "annotator",
            "aligner": "aligner",
            "ranker": "ranker",
            "divergences": "divergences",
            "documents": "documents",
            "maker": "maker",
        }
    ),
    # ---- what Hydra builds for a grid
    "hydra": Kind(parts={"callbacks": "grid callbacks", "launcher": "launcher", "sweeper": "sweeper"}),
    "grid callbacks": Kind(parts={"*": "grid callback"}),
    "grid callback": Kind(
        (
            "xsent.sweeps.evaluation_study.EvaluationStudyReport",
            "xsent.sweeps.grid.GridReport",
            "xsent.sweeps.study.StudyReport",
        )
    ),
    "launcher": Kind(
        (
            "hydra._internal.core_plugins.basic_launcher.BasicLauncher",
            "hydra_plugins.hydra_submitit_launcher.submitit_launcher.LocalLauncher",
            "hydra_plugins.hydra_submitit_launcher.submitit_launcher.SlurmLauncher",
        )
    ),
    "sweeper": Kind(("hydra._internal.core_plugins.basic_sweeper.BasicSweeper",)),
    # ---- encoders and recipes
    "encoder": Kind((*ENCODERS, LANGUAGE_MARKED), {"base": "encoder"}),
    "encoder or run": Kind((*ENCODERS, LANGUAGE_MARKED, LOAD_ENCODER), {"base": "encoder"}),
    "recipe": Kind(
        (
            "xsent.recipes.disentangling.DisentanglingRecipe",
            "xsent.recipes.divergence.DivergenceRecipe",
            "xsent.recipes.labse.LabseRecipe",
            "xsent.recipes.paraphrase.ParaphraseRecipe",
            "xsent.recipes.rolaser.RolaserRecipe",
            "xsent.recipes.transfer.TransferRecipe",
        ),
        {
            "judge": "judge",
            "lora": "adapters",
            "loss": "loss",
            "mining": "mining",
            "optimizer": "optimizer",
            "ranking": "loss",
            "scheduler": "scheduler",
            "teacher": "encoder",
        },
    ),
    "judge": Kind(
        (
            "xsent.models.pairs.alignment_judge.AlignmentJudge",
            "xsent.models.pairs.cross_encoder.PairEncoder",
        )
    ),
    "adapters": Kind(("xsent.models.lora.Lora",)),
    "loss": Kind(
        (
            "xsent.losses.AdditiveMarginScale",
            "xsent.losses.CoSent",
            "xsent.losses.Contrastive",
            "xsent.losses.Distillation",
            "xsent.losses.MegaBatchMargin",
            "xsent.losses.additive_margin_softmax",
        )
    ),
    "mining": Kind(("xsent.data.sampling.mega_batch.MegaBatchMining",)),
    # conf/ has Adam and AdamW; the others take the same call.
    "optimizer": Kind(tuple(f"torch.optim.{name}" for name in ("Adagrad", "Adam", "AdamW", "NAdam", "RMSprop", "SGD"))),
    "scheduler": Kind(
        (
            "torch.optim.lr_scheduler.OneCycleLR",  # in no file of conf/: takes `total_steps` as ours do
            "xsent.recipes.schedules.inverse_sqrt",
            "xsent.recipes.schedules.linear_decay",
        )
    ),
    # ---- data
    "data": Kind(
        (
            "xsent.data.modules.bitext.BitextData",
            "xsent.data.modules.bitext.TableData",
            "xsent.data.modules.divergences.DivergenceData",
            "xsent.data.modules.paraphrase.LabelledData",
            "xsent.data.modules.paraphrase.ParaphraseData",
            "xsent.data.modules.ugc.UgcData",
        ),
        {"reader": "reader", "source": "reader of labelled pairs", "noise": "noise"},
    ),
    "reader": Kind(
        (
            "xsent.data.readers.cldr.read_cldr",
            "xsent.data.readers.monolingual.read_sentences",
            "xsent.data.readers.parallel.read_hub",
            "xsent.data.readers.parallel.read_jsonl",
            "xsent.data.readers.parallel.read_moses",
            "xsent.data.readers.parallel.read_opus_zip",
            "xsent.data.readers.parallel.read_parquet",
            "xsent.data.readers.parallel.read_tables",
        )
    ),
    "reader of labelled pairs": Kind(
        (
            "xsent.data.readers.labelled.read_labelled",
            "xsent.data.readers.msrp.read_msrp",
            "xsent.data.readers.pawsx.read_pawsx",
        )
    ),
    # ---- evaluation
    "evaluator": Kind(
        (
            "xsent.evaluation.clsd.evaluator.ClsdEvaluator",
            "xsent.evaluation.clsd.swaps.ClsdSwapsEvaluator",
            "xsent.evaluation.divergence.documents.DocumentEvaluator",
            "xsent.evaluation.divergence.evaluator.DivergenceEvaluator",
            "xsent.evaluation.mteb.clsd.ClsdMtebEvaluator",
            "xsent.evaluation.mteb.evaluator.MtebEvaluator",
            "xsent.evaluation.noise.evaluator.UgcEvaluator",
            "xsent.evaluation.noise.languages.LanguageDistances",
            "xsent.evaluation.retrieval.bucc.BuccEvaluator",
            "xsent.evaluation.retrieval.evaluator.RetrievalEvaluator",
            "xsent.evaluation.retrieval.xsimpp.XsimppEvaluator",
            "xsent.evaluation.similarity.alignment_uniformity.AlignmentUniformityEvaluator",
            "xsent.evaluation.similarity.language_probe.LanguageProbeEvaluator",
            "xsent.evaluation.similarity.paraphrase.ParaphraseEvaluator",
            "xsent.evaluation.similarity.reconstruction.ReconstructionEvaluator",
            "xsent.evaluation.similarity.sts.StsEvaluator",
            "xsent.evaluation.suite.Suite",
        ),
        {
            "aligner": "document aligner",
            "members": "evaluators",
            "percent_rule": "percent rule",
            "pivot": "pivot",
            "read": "test set",
            "read_annotations": "reader of annotations",
            "read_dev": "reader of dev pairs",
            "read_pool": "reader of candidates",
            "swaps": "swaps",
            "teacher": "encoder",
        },
    ),
    "evaluators": Kind(parts={"*": "evaluator"}),
    "test set": Kind(
        (
            "xsent.data.readers.bucc.read_bucc",
            "xsent.data.readers.divergences.read_divergences",
            "xsent.data.readers.sts.read_sts17",
            "xsent.data.readers.sts.read_stsb",
            "xsent.data.readers.tatoeba.read_flores",
            "xsent.data.readers.tatoeba.read_tatoeba",
            "xsent.data.test_sets.clsd.read_clsd",
            "xsent.data.test_sets.codeswitch.CodeSwitched",
            "xsent.data.test_sets.codeswitch.CodeSwitchedHeldOut",
            "xsent.data.test_sets.heldout.HeldOut",
            "xsent.data.test_sets.heldout.HeldOutDivergences",
            "xsent.data.test_sets.heldout.HeldOutNoise",
            "xsent.data.test_sets.heldout.HeldOutPairs",
            "xsent.data.test_sets.injected.InjectedDivergences",
            "xsent.data.test_sets.labelled.LabelledSets",
            "xsent.data.test_sets.refresd.read_refresd",
            "xsent.data.test_sets.semdiverge.read_semdiverge",
            "xsent.data.test_sets.swissgov.read_swissgov",
            "xsent.data.test_sets.flores_languages.FloresLanguages",
            "xsent.data.test_sets.ugc.UgcSets",
            "xsent.data.test_sets.xsimpp.AugmentedFlores",
        ),
        {
            "negatives": "negatives",
            "noise": "noise",
            "read": "test set",
            "source": "reader of labelled pairs",
            "span_deletion": "span deletion",
            "word_replacement": "word replacement",
            "words": "word tokenizer",
        },
    ),
    "reader of annotations": Kind(("xsent.data.test_sets.refresd.read_annotations",)),
    "reader of dev pairs": Kind(("xsent.data.readers.divergences.read_dev_divergences",)),
    "reader of candidates": Kind(("xsent.data.readers.divergences.read_candidates",)),
    "negatives": Kind(("xsent.data.test_sets.ugc.GeneratedNegatives",)),
    "word tokenizer": Kind(("xsent.text.annotation.moses_tokenizer.moses_words",)),
    "percent rule": Kind(("xsent.evaluation.divergence.metrics.PercentRule",)),
    "pivot": Kind(("xsent.data.test_sets.clsd_pivot.Pivot",), {"translator": "translator"}),
    "translator": Kind(("xsent.models.translation.seq2seq.Translator",)),
    "swaps": Kind(("xsent.data.test_sets.clsd_swaps.SwapReader",), {"tagger": "annotator"}),
    # ---- a run
    "trainer": Kind(("pytorch_lightning.Trainer",)),
    "callbacks": Kind(parts={"*": "callback"}),
    "callback": Kind(
        (
            "pytorch_lightning.callbacks.LearningRateMonitor",  # this and the next: in no file of conf/
            "pytorch_lightning.callbacks.TQDMProgressBar",
            "xsent.callbacks.Checkpoints",
            "xsent.callbacks.ResumableEarlyStopping",
        )
    ),
    "logger": Kind(
        (
            "pytorch_lightning.loggers.TensorBoardLogger",
            "pytorch_lightning.loggers.WandbLogger",
            "xsent.reporting.metrics.MetricsFile",
        )
    ),
    # ---- jobs
    "noise": Kind(("xsent.text.noise.Noiser",)),
    "annotator": Kind(("xsent.text.annotation.annotator.StanzaAnnotator.load",)),
    "aligner": Kind(
        ("xsent.models.alignment.encoder_aligner.EncoderAligner", "xsent.models.alignment.sim_aligner.SimAligner"),
        {"encoder": "encoder or run", "link": "linker"},
    ),
    "documents": Kind(parts={"aligner": "document aligner"}),
    "document aligner": Kind(("xsent.models.alignment.document_aligner.DocumentAligner",)),
    "linker": Kind(("xsent.text.annotation.word_alignment.link_words",), {"match": "link rule"}),
    "link rule": Kind(
        (
            "xsent.text.annotation.word_alignment.argmax_links",
            "xsent.text.annotation.word_alignment.itermax_links",
            "xsent.text.annotation.word_alignment.softmax_links",
        )
    ),
    "ranker": Kind(("xsent.models.masked_lm.MaskedLM.load",)),
    "divergences": Kind(
        ("xsent.text.divergences.Diverger",),
        {
            "deletion": "deletion",
            "insertion": "insertion",
            "replacement": "replacement",
            "span_deletion": "span deletion",
            "substitution": "substitution",
            "uneven": "uneven rule",
            "word_replacement": "word replacement",
            "wordnet": "word net",
        },
    ),
    "deletion": Kind(("xsent.text.divergences.SubtreeDeletion",)),
    "insertion": Kind(("xsent.text.divergences.Insertion",)),
    "replacement": Kind(("xsent.text.divergences.PhraseReplacement",)),
    "span deletion": Kind(("xsent.text.divergences.SpanDeletion",)),
    "substitution": Kind(("xsent.text.divergences.LexicalSubstitution",)),
    "uneven rule": Kind(("xsent.text.divergences.Uneven",)),
    "word replacement": Kind(("xsent.text.divergences.WordReplacement",)),
    "word net": Kind(("xsent.text.divergences.WordNet",)),
    "maker": Kind(
        ("xsent.text.distractors.llm.maker.LlmMaker", "xsent.text.distractors.rules.RuleMaker"),
        {"patience": "patience", "prices": "prices", "rules": "answer rules"},
    ),
    "patience": Kind(("xsent.text.distractors.llm.client.Patience",)),
    "prices": Kind(("xsent.text.distractors.llm.budget.Prices",)),
    "answer rules": Kind(("xsent.text.distractors.llm.answers.Rules",)),
}


def check_targets(node: object, kind: str | None = "config", key_path: str = "") -> None:
    """Raise ``UsageError`` at the first ``_target_`` that may not stand at its place.

    Args:
        node: config, or part of one, of plain values.
        kind: of the node in ``KINDS``; None: holds no object.
        key_path: of the node, for messages.
    """
    known = Kind() if kind is None else KINDS[kind]
    if isinstance(node, Mapping):
        if "_target_" in node:
            _check_object(node, known, kind, key_path)
        for key, value in node.items():
            part = known.parts.get(str(key), known.parts.get("*"))
            check_targets(value, part, f"{key_path}.{key}" if key_path else str(key))
    elif isinstance(node, list | tuple):
        for index, value in enumerate(node):
            check_targets(value, None, f"{key_path}[{index}]")


def _check_object(node: Mapping[str, Any], known: Kind, kind: str | None, key_path: str) -> None:
    target = node["_target_"]
    prefix = f"{key_path}." if key_path else ""
    if target not in known.targets:
        expected = "no object" if not known.targets else f"{kind}: {', '.join(known.targets)}"
        raise UsageError(
            f"{prefix}_target_: {target} may not be built from a config here; expected {expected}"
            + suggestion(str(target), known.targets)
        )
    for key in node:
        if str(key).startswith("_") and key not in ("_target_", "_partial_"):
            raise UsageError(f"{prefix}{key}: not read; of the keys for Hydra only _target_ and _partial_ are")
    if not isinstance(node.get("_partial_", False), bool):
        raise UsageError(f"{prefix}_partial_={node['_partial_']}: expected true or false")
