"""MTEB tasks scored by mteb and by our evaluators."""
