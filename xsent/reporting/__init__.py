"""Results for readers: metrics files, tables, plots, HTML pages, model cards."""
