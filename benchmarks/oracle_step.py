"""One training step of DREAM and MEAT, with and without ORACLE, relative to its matrix products.

``python -m benchmarks.oracle_step`` prints one line per host. It times ``DisentanglingRecipe.training_step`` (heads,
losses, backward, Adam, MEAT's discriminator) without Lightning's loop, and the step's matrix products as bare
``torch.mm`` of the same shapes. The two take turns, so that other load slows both.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from xsent.batch import EmbeddedBatch, Pairs
from xsent.models.encoders.base import Encoder
from xsent.recipes.disentangling import DisentanglingRecipe

PAIRS, DIM, LANGUAGES = 512, 768, 13  # the released ORACLE configuration
LIMIT = 1.5  # a step may take this many times its products
REPETITIONS = 40
WARM_UP = 5


class Row(NamedTuple):
    """Medians in milliseconds; ``ratio`` is the median of the ratios of neighbouring measurements."""

    name: str
    step: float
    products: float
    ratio: float


class _BareStep(DisentanglingRecipe):
    """The recipe's step with plain optimizers and without a trainer."""

    def start(self) -> None:
        self.classifier = nn.Linear(DIM, LANGUAGES)
        configured = self.configure_optimizers()
        optimizers = configured if isinstance(configured, list) else [{"optimizer": configured}]
        self.plain = [_PlainOptimizer(entry["optimizer"]) for entry in optimizers]

    def optimizers(self, use_pl_optimizer: bool = True) -> Any:
        return self.plain

    def lr_schedulers(self) -> Any:
        return None

    def manual_backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        loss.backward()

    def count_batch(self) -> None:
        self.batches_seen += 1

    def log_terms(self, prefix: str, terms: Mapping[str, Tensor], rows: int) -> None:
        pass


class _PlainOptimizer:
    """The interface of Lightning's optimizer wrapper."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self.zero_grad = optimizer.zero_grad
        self.step = optimizer.step


class _FrozenStub:
    """The attributes of an encoder that the recipe reads before it encodes text."""

    dim = DIM
    name = "stub"


def training_step(host: str, *, variant: str | None, batch: EmbeddedBatch) -> Callable[[], None]:
    """Return a function that takes one optimisation step; ``variant`` None: the host without ORACLE."""
    names = {
        "dream": ("meaning", "reconstruction", "language_embedding", "language_identification"),
        "meat": ("reconstruction", "cross_reconstruction", "language_embedding", "adversarial"),
    }
    weight = 0.0 if variant is None else 1.0
    recipe = _BareStep(
        encoder=cast(Encoder, _FrozenStub()),
        host=host,
        seed=0,
        hidden=[],
        partners="language_aware",
        oracle={"variant": variant or "paper", "pairs": "off_diagonal", "same_language": True},
        weights={
            **{name: dict.fromkeys(terms, 1.0) for name, terms in names.items()},
            "oracle": {"intra_class": weight, "inter_class": weight},
        },
        optimizer=partial(torch.optim.Adam, lr=1e-5, fused=True),
        scheduler=None,
    )
    recipe.start()
    return lambda: recipe.training_step(batch, 0)


def matrix_products(host: str) -> Callable[[], None]:
    """Return a function that computes the products of one step, into allocated memory.

    Heads: per side and part one product forward and one for the gradient of the weights; the embeddings
    are frozen and need none. Classifier, per side: forward, gradient of its weights, gradient of its
    input; MEAT runs its discriminator forward twice, once for its own step.
    """
    x, weight, out = torch.randn(PAIRS, DIM), torch.randn(DIM, DIM), torch.empty(PAIRS, DIM)
    out_weight = torch.empty(DIM, DIM)
    few, small, small_weight = torch.randn(PAIRS, LANGUAGES), torch.randn(LANGUAGES, DIM), torch.empty(LANGUAGES, DIM)
    logits = torch.empty(PAIRS, LANGUAGES)
    forwards = 2 if host == "meat" else 1

    def run() -> None:
        for _side in range(2):
            for _part in range(2):
                torch.mm(x, weight.T, out=out)
                torch.mm(out.T, x, out=out_weight)
            for _ in range(forwards):
                torch.mm(x, small.T, out=logits)
            torch.mm(few.T, x, out=small_weight)
            torch.mm(few, small, out=out)

    return run


def random_batch() -> EmbeddedBatch:
    """Pairs of English with twelve languages and random vectors."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.arange(PAIRS)
    target_lang = torch.randint(1, LANGUAGES, (PAIRS,), generator=generator)
    pairs = Pairs(row=rows, group=rows, source_lang=torch.zeros_like(rows), target_lang=target_lang)
    vectors = torch.randn(2, PAIRS, DIM, generator=generator)
    return EmbeddedBatch(vectors[0], vectors[1], pairs)


def _seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(name: str, step: Callable[[], None], products: Callable[[], None], repetitions: int) -> Row:
    """Time the two in turns."""
    for _ in range(WARM_UP):
        step(), products()
    times = [(_seconds(step), _seconds(products)) for _ in range(repetitions)]
    return Row(
        name,
        step=1e3 * statistics.median(a for a, _ in times),
        products=1e3 * statistics.median(b for _, b in times),
        ratio=statistics.median(a / b for a, b in times),
    )


def measure(repetitions: int = REPETITIONS) -> list[Row]:
    """A row per host and variant."""
    # As in a run: subnormal numbers would slow the clustering term.
    torch.set_flush_denormal(True)
    torch.manual_seed(0)
    # A run has read and embedded its data by now. After freeing tens of MB, glibc keeps freed memory instead of
    # returning it after each step, which would cost about 2,000 page faults in the next one.
    torch.empty(31 * 2**20, dtype=torch.uint8).zero_()
    batch = random_batch()
    return [
        compare(
            f"{host}{' + ' + variant if variant else ''}",
            training_step(host, variant=variant, batch=batch),
            matrix_products(host),
            repetitions,
        )
        for host in ("dream", "meat")
        for variant in (None, "paper", "oracle_new")
    ]


def main() -> None:
    """Print the rows."""
    print(f"one training step at {PAIRS} pairs x {DIM}, {torch.get_num_threads()} threads; limit {LIMIT}")
    print(f"{'':22}{'step ms':>9}{'products ms':>13}{'ratio':>8}")
    for row in measure():
        mark = "" if row.ratio <= LIMIT else "  OVER"
        print(f"{row.name:22}{row.step:9.1f}{row.products:13.1f}{row.ratio:8.2f}{mark}")


if __name__ == "__main__":
    main()
