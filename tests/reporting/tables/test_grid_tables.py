"""A paper's tables with a row for each model of a grid."""

from collections.abc import Mapping
from typing import Any

from xsent.reporting.tables.grid_tables import GridFigure, Model, grid_tables

TABLE: dict[str, Any] = {
    "title": "Table 4",
    "ours": {"teacher": "teacher_", "student": ""},
    "columns": {"distance": "ugc/rocsmt/cosine_distance", "xSIM": "ugc/rocsmt/xsim", "other": "ugc/lexnorm/xsim"},
    "rows": {"LASER": {"distance": "0.09", "xSIM": "4.06*"}, "RoLASER": {"distance": "0.06"}},
    "comparable": {"distance": {"set": "rocsmt"}, "xSIM": {"set": "rocsmt", "queries": 1922}},
}


def model(name: str, xsim: float, teacher: float = 5.0, queries: int = 1922) -> Model:
    metrics = {"xsim": xsim, "teacher_xsim": teacher, "cosine_distance": 0.05}
    details = [{"evaluator": "ugc", "set": "rocsmt", "queries": queries, "teacher": "micro"}]
    return Model(name, {f"test/ugc/original/rocsmt/{key}": value for key, value in metrics.items()}, details)


def texts(*models: Model, table: Mapping[str, Any] = TABLE) -> list[list[str]]:
    (result,) = grid_tables([table], models).tables
    return [row.texts for row in result.rows]


def test_the_papers_methods_come_first_and_a_shared_teacher_is_one_row() -> None:
    assert texts(model("a", 2.0), model("b", 3.0)) == [
        ["paper: LASER", "0.09", "4.06*"],
        ["paper: RoLASER", "0.06", ""],
        ["teacher micro", "", "5.00"],
        ["a", "0.0500", "2.00"],
        ["b", "0.0500", "3.00"],
    ]


def test_teachers_that_differ_are_named_with_their_models() -> None:
    names = [row[0] for row in texts(model("a", 2.0), model("b", 3.0, teacher=6.0))]
    assert names[2:] == ["a, teacher", "b, teacher", "a", "b"]


def test_a_column_that_one_model_is_not_comparable_in_has_no_figures_of_the_paper() -> None:
    models = model("a", 2.0), model("b", 3.0, queries=961)
    assert [row[2] for row in texts(*models)] == ["", "", "5.00", "2.00", "3.00"]
    result = grid_tables([TABLE], models)
    (note,) = result.notes
    assert "Table 4" in note
    assert "queries 961 (theirs 1922)" in note
    assert GridFigure("Table 4", "xSIM", "b", 3.0, "", None, None) in result.figures


def test_the_csv_has_a_row_for_each_method_of_the_paper_with_the_difference() -> None:
    of_a = [figure for figure in grid_tables([TABLE], [model("a", 2.0)]).figures if figure.model == "a"]
    assert [(figure.column, figure.method, figure.paper) for figure in of_a] == [
        ("distance", "LASER", 0.09),
        ("distance", "RoLASER", 0.06),
        ("xSIM", "LASER", 4.06),
    ]
    assert [round(figure.difference or 0, 2) for figure in of_a] == [-0.04, -0.01, -2.06]


def test_a_table_without_comparable_columns_has_no_rows_of_the_paper_and_an_unmeasured_one_is_left_out() -> None:
    table = TABLE | {"comparable": {"all": {"set": "flores"}}}
    assert [row[0] for row in texts(model("a", 2.0), table=table)] == ["teacher micro", "a"]
    assert not grid_tables([TABLE | {"columns": {"other": "ugc/lexnorm/xsim"}}], [model("a", 2.0)]).tables


def test_of_tables_of_the_same_metrics_the_comparable_one_is_chosen() -> None:
    small, large = (
        {**TABLE, "title": name, "comparable": {"all": {"queries": n}}} for name, n in [("s", 9), ("l", 1922)]
    )
    assert [table.label for table in grid_tables([small, large], [model("a", 2.0)]).tables] == ["l"]
    assert [table.label for table in grid_tables([small, small | {"title": "t"}], [model("a", 2.0)]).tables] == ["s"]
