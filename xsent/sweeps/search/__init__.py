"""Hyper-parameter search with Optuna: ``python train.py search=<name>``, described in ``docs/sweeps.md``."""

import warnings

try:
    import optuna
except ModuleNotFoundError:
    raise ModuleNotFoundError("search needs Optuna: pip install 'xsent[search]'") from None
if int(optuna.__version__.split(".")[0]) < 5:
    raise ModuleNotFoundError(f"search needs Optuna 5, found {optuna.__version__}")

optuna.logging.set_verbosity(optuna.logging.ERROR)  # the search logs the same itself
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
