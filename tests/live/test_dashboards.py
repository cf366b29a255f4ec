"""A real Prometheus that scrapes a watch answers every query of the dashboards of Grafana."""

import json
import re
from collections.abc import Iterator
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from contract.dashboards import NAMES, dashboard, exprs, variables
from live.prometheus_server import PrometheusServer
from live.scraped_watch import ACCOUNT, PATIENCE_S, scraped_watch
from live.test_watch_command import until

pytestmark = pytest.mark.live

# What Grafana puts in for all values, and for one instance.
CHOSEN = {
    "plimsoll-fleet": {"account": ".*", "region": ".*", "instance": ".*", "job": ".*"},
    "plimsoll-instance": {"account": ACCOUNT, "region": "eu-central-1", "instance": "claims-pipeline"},
}
# Four scrapes at the second of this server; Grafana puts in four times the interval of the data source.
RATE_INTERVAL = "4s"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    """Prometheus, after it has scraped everything several times."""
    folder = tmp_path_factory.mktemp("watch")
    data = tmp_path_factory.mktemp("prometheus")
    with scraped_watch(folder) as watch:
        jobs = {"plimsoll": {"static_configs": [{"targets": [watch.address]}]}}
        with PrometheusServer(data, jobs, "# EOF\n") as server:
            scrapes = "count_over_time(plimsoll_build_info[1m]) >= 5"
            until(lambda: server.query(scrapes), PATIENCE_S)
            yield server


def put_in(query: str, values: dict[str, str]) -> str:
    """The query as Grafana sends it."""
    sent = query.replace("$__rate_interval", RATE_INTERVAL)
    for name, value in values.items():
        sent = re.sub(rf"\${name}\b", value, sent)
    assert "$" not in sent
    return sent


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_has_data(prometheus, name):
    """Each query of each panel, and of each annotation, has a series with a number."""
    empty = []
    for title, expr in exprs(dashboard(name)):
        found = prometheus.query(put_in(expr, CHOSEN[name]))
        if not [one for one in found if one["value"][1] != "NaN"]:
            empty.append(f"{title}: {expr}")

    assert not empty, "\n".join(empty)


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_has_values(prometheus, name):
    """Values that choose one instance are among them."""
    for variable, document in variables(dashboard(name)).items():
        if document["type"] != "query":
            continue
        parts = re.fullmatch(r"label_values\((.+), (\w+)\)", document["query"]["query"])
        assert parts is not None
        line = urlencode({"match[]": put_in(parts[1], CHOSEN[name])})
        address = f"{prometheus.url}/api/v1/label/{parts[2]}/values?{line}"
        with urlopen(address, timeout=10) as answer:
            values = json.load(answer)["data"]
        chosen = CHOSEN[name][variable]

        assert values if chosen == ".*" else chosen in values


def test_the_fleet_is_counted(prometheus):
    """Of the four simulated instances one is at a ceiling, and three have no new data."""
    found = {
        title: float(prometheus.query(put_in(expr, CHOSEN["plimsoll-fleet"]))[0]["value"][1])
        for title, expr in exprs(dashboard("plimsoll-fleet"))
        if title in ("Instances", "At a ceiling", "Close to a ceiling", "Without new data")
    }

    assert found == {"Instances": 4, "At a ceiling": 1, "Close to a ceiling": 0, "Without new data": 3}
