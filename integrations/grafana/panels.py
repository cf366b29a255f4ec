"""Forms of panels and variables that both dashboards share, so that a colour or a unit is chosen once."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from grafana_foundation_sdk.builders import bargauge, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.builders.common import (
    GraphThresholdsStyleConfig,
    ReduceDataOptions,
    StackingConfig,
    TableSortByFieldState,
    VizLegendOptions,
    VizTooltipOptions,
)
from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DashboardLink,
    DatasourceVariable,
    FieldColor,
    QueryVariable,
    ThresholdsConfig,
)
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.models import common as look
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
FLEET, INSTANCE = "plimsoll-fleet", "plimsoll-instance"
TAG = "plimsoll"
IDENTITY = "aws_account_id, aws_region, dbidentifier"
# Names of a state and of a verdict have one colour each, in both dashboards.
GREEN, YELLOW, RED, GREY = "green", "yellow", "red", "#8e8e8e"
STATES = {"0": ("ok", GREEN), "1": ("nearing", YELLOW), "2": ("bound", RED), "3": ("unknown", GREY)}

# The share of a ceiling from which the watch says `nearing`, and the ceiling itself.
USED = ((None, GREEN), (0.8, YELLOW), (1.0, RED))
# Credits: less than a fifth is little, a twentieth is nearly nothing.
LEFT = ((None, RED), (0.05, YELLOW), (0.2, GREEN))
NONE_IS_GOOD = ((None, GREEN), (1.0, RED))
PLAIN = ((None, "blue"),)

Steps = Sequence[tuple[float | None, str]]
Panel = TypeVar("Panel", stat.Panel, timeseries.Panel, table.Panel, bargauge.Panel, statetimeline.Panel)


def dashboard(title: str, uid: str, description: str) -> Dashboard:
    """Return a dashboard with a fixed address and no panels; `$datasource` is its first variable."""
    return (
        Dashboard(title)
        .uid(uid)
        .description(description)
        .tags([TAG])
        .readonly()
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time("now-6h", "now")
        .timezone("browser")
        .refresh("1m")
        .link(
            DashboardLink("Plimsoll").type(DashboardLinkType.DASHBOARDS).tags([TAG]).include_vars(True).keep_time(True)
        )
        .with_variable(DatasourceVariable("datasource").label("Data source").type("prometheus").regex(""))
    )


def variable(name: str, label: str, query: str, *, has_all: bool) -> QueryVariable:
    """Return a variable whose values are those of a label; `has_all` also allows several and all of them."""
    made = (
        QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query({"query": query, "refId": name})
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
    )
    return made.multi(True).include_all(True).all_value(".*") if has_all else made


def queries(panel: Panel, exprs: Mapping[str, str], *, form: PromQueryFormat | None = None) -> Panel:
    """Return the panel with a query for each legend; with a form, the queries are of the last moment only."""
    for number, (legend, expr) in enumerate(exprs.items()):
        query = Dataquery().expr(expr).ref_id("ABCDEFGH"[number]).legend_format(legend)
        query = query.datasource(SOURCE)
        panel.with_target(query.instant().format(form) if form else query.range())
    return panel


def number(
    title: str,
    description: str,
    expr: str,
    *,
    unit: str = "short",
    steps: Steps = PLAIN,
    none: str = "–",
    legend: str = "",
    width: int = 4,
) -> stat.Panel:
    """Return the last value in large digits; with a legend, its text instead of the value."""
    panel = (
        _framed(stat.Panel(), title, description, width, 4)
        .unit(unit)
        .no_value(none)
        .thresholds(_steps(steps))
        .color_scheme(FieldColor().mode(FieldColorModeId.THRESHOLDS))
        .color_mode(look.BigValueColorMode.VALUE)
        .graph_mode(look.BigValueGraphMode.NONE)
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]).values(False))
    )
    if legend:
        panel.text_mode(look.BigValueTextMode.NAME)
    form = PromQueryFormat.TIME_SERIES
    return queries(panel, {legend: expr}, form=form)


def curves(
    title: str,
    description: str,
    exprs: Mapping[str, str],
    *,
    unit: str,
    steps: Steps | None = None,
    top: float | None = None,
    is_stacked: bool = False,
    width: int = 12,
) -> timeseries.Panel:
    """Return lines over time; with steps, a dashed line at each; with `top`, an axis that reaches at least so far."""
    panel = (
        _framed(timeseries.Panel(), title, description, width, 8)
        .unit(unit)
        .axis_soft_min(0)
        .line_width(1)
        .fill_opacity(40 if is_stacked else 5)
        .show_points(look.VisibilityMode.NEVER)
        .legend(
            VizLegendOptions()
            .display_mode(look.LegendDisplayMode.TABLE)
            .placement(look.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs(["lastNotNull", "max"])
        )
        .tooltip(VizTooltipOptions().mode(look.TooltipDisplayMode.MULTI).sort(look.SortOrder.DESCENDING))
    )
    if top is not None:
        panel.axis_soft_max(top)
    if is_stacked:
        panel.stacking(StackingConfig().mode(look.StackingMode.NORMAL).group("A"))
    if steps:
        panel.thresholds(_steps(steps))
        panel.thresholds_style(GraphThresholdsStyleConfig().mode(look.GraphTresholdsStyleMode.DASHED))
    return queries(panel, exprs)


def states(title: str, description: str, exprs: Mapping[str, str]) -> statetimeline.Panel:
    """Return a coloured bar for each series: 0 to 3 as in `STATES`."""
    panel = (
        _framed(statetimeline.Panel(), title, description, 24, 7)
        .unit("short")
        .mappings([mapping(STATES)])
        .color_scheme(FieldColor().mode(FieldColorModeId.THRESHOLDS))
        .show_value(look.VisibilityMode.NEVER)
        .fill_opacity(80)
        .line_width(0)
    )
    return queries(panel, exprs)


def bars(title: str, description: str, exprs: Mapping[str, str], *, width: int) -> bargauge.Panel:
    """Return one bar for each series, with its last value."""
    panel = (
        _framed(bargauge.Panel(), title, description, width, 8)
        .unit("short")
        .min(0)
        .decimals(0)
        .thresholds(_steps(PLAIN))
        .orientation(look.VizOrientation.HORIZONTAL)
        .display_mode(look.BarGaugeDisplayMode.BASIC)
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]).values(False))
    )
    return queries(panel, exprs, form=PromQueryFormat.TIME_SERIES)


def rows(
    title: str,
    description: str,
    columns: Mapping[str, str],
    *,
    shown: Mapping[str, str],
    fields: Mapping[str, Mapping[str, object]],
    height: int = 9,
    width: int = 24,
    sorted_by: str = "",
) -> table.Panel:
    """
    Return a table: a row for each set of labels, a column for each query.

    Args:
        columns: query by the title of its column.
        shown: title by label, in the order of the columns; other labels are left out.
        fields: look of a column by its title, as Grafana's field properties.
        sorted_by: column whose highest value comes first.
    """
    panel = _framed(table.Panel(), title, description, width, height).unit("short")
    values: dict[str, str] = {}
    for letter, (column, expr) in zip("ABCDEFGH", columns.items(), strict=False):
        panel.with_target(
            Dataquery().expr(expr).ref_id(letter).datasource(SOURCE).instant().format(PromQueryFormat.TABLE)
        )
        values["Value" if len(columns) == 1 else f"Value #{letter}"] = column
    names = {**shown, **values}
    panel.with_transformation(DataTransformerConfig(id_val="merge", options={}))
    panel.with_transformation(
        DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": {"Time": True},
                "indexByName": {name: index for index, name in enumerate(names)},
                "renameByName": names,
            },
        )
    )
    if sorted_by:
        panel.sort_by([TableSortByFieldState().display_name(sorted_by).desc(True)])
    for column, properties in fields.items():
        made = [DynamicConfigValue(id_val=key, value=value) for key, value in properties.items()]
        panel.override_by_name(column, made)
    return panel


def mapping(names: Mapping[str, tuple[str, str]]) -> ValueMap:
    """Return texts and colours by value."""
    return ValueMap(
        options={
            value: ValueMappingResult(text=text, color=colour, index=index)
            for index, (value, (text, colour)) in enumerate(names.items())
        }
    )


def coloured(steps: Steps) -> dict[str, object]:
    """Return properties of a column whose cells have the colour of their step."""
    return {"thresholds": _steps(steps).build(), "custom.cellOptions": {"type": "color-text"}}


def _framed(panel: Panel, title: str, description: str, width: int, height: int) -> Panel:
    panel.title(title).description(description).datasource(SOURCE).span(width).height(height)
    return panel


def _steps(steps: Steps) -> ThresholdsConfig:
    made = [Threshold(value=value, color=colour) for value, colour in steps]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(made)
