"""The page over HTTP: what it shows, what it takes, and what it refuses."""

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from patience import until
from plimsoll.web import stream
from simulated_fleet import SILENT, Fleet

BOUND, CALM = "claims-primary", "accounts-primary"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Eight instances (simulated)."""
    return Fleet(tmp_path_factory.mktemp("fleet"), 8, names=(HOSTILE,))


@pytest.fixture(scope="module")
def url(fleet: Fleet) -> Iterator[str]:
    """The address of their page, after the first reading."""
    with fleet.watched() as address:
        assert until(lambda: get(f"{address}-/ready").status_code == 200)
        yield address


def get(address: str, **options: object) -> httpx.Response:
    """An answer; the first drawing takes seconds on a busy machine."""
    return httpx.get(address, timeout=30.0, **options)  # type: ignore[arg-type]


def key_of(url: str, name: str) -> str:
    """The key of an instance in addresses."""
    page = get(url, params={"q": name}).text
    found = re.search(r'href="instances/([0-9a-f]{16})"', page)
    assert found is not None
    return found[1]


def form_of(page: str, action: str) -> dict[str, str]:
    """The hidden fields of the first form of a page that goes to an address with this end."""
    form = re.search(rf'<form[^>]*action="[^"]*/{action}"[^>]*>(.*?)</form>', page, re.DOTALL)
    assert form is not None
    pairs = re.findall(r'<input type="hidden" name="(\w+)" value="(\w*)">', form[1])
    return dict(pairs)


def test_the_fleet_has_a_row_for_each(url: str, fleet: Fleet):
    """Most urgent first; one that cannot be read is unknown, with the reason."""
    page = get(url).text
    names = re.findall(r"<bdi>([^<]+)</bdi></a>", page)

    assert set(names[:3]) == {BOUND, "search-primary", "ledger-primary"}
    assert names[3] == SILENT
    assert len(names) == 8
    assert "3 bound, 1 unknown, 1 nearing, 3 ok" in page
    assert "access denied" in page
    assert "Simulated data" in page
    assert HOSTILE not in page


def test_a_filter_leaves_rows_out(url: str):
    """By name, class, region and state; nothing that is asked for is repeated as markup."""
    assert "1 of 8 instances" in get(url, params={"q": "CLAIMS"}).text
    assert "1 of 8 instances" in get(url, params={"state": "nearing"}).text
    page = get(url, params={"q": '"><script>', "page": "99999999999999999999"}).text
    assert "No instance matches" in page
    assert '"><script>' not in page


def test_an_instance_has_its_report_and_its_messages(url: str, fleet: Fleet):
    """The report of its hours, every ceiling, the alert and whom it was sent to."""
    assert until(lambda: BOUND in [m.instance for m in fleet.book.got])
    page = get(f"{url}instances/{key_of(url, BOUND)}")

    assert page.status_code == 200
    for text in ("is up against its instance EBS throughput", "Ceilings now", "Open alerts"):
        assert text in re.sub(r"\s+", " ", page.text)
    assert until(lambda: "ops: sent " in get(str(page.url)).text)


def test_every_answer_is_closed(url: str):
    """A policy without inline scripts, no frames, no sniffing, no referrer; also where something is not there."""
    key = key_of(url, BOUND)
    for path in ("", f"instances/{key}", f"instances/{key}/what-if", "instances/none", "static/x"):
        answer = get(f"{url}{path}")
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-")
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        scripts = re.findall(r"<script(?![^>]*(?:src=|application/json))", answer.text)
        assert not scripts
        assert not re.findall(r'\s(?:on\w+|style)="', answer.text)


def test_another_name_for_this_machine_is_refused(url: str):
    """A site that points its own name here reads nothing; probes and metrics are not asked."""
    other = {"Host": "evil.example"}

    assert get(url, headers=other).status_code == 421
    assert httpx.post(f"{url}instances/x/acknowledge", headers=other).status_code == 421
    assert get(f"{url}-/healthy", headers=other).status_code == 200


def test_an_alert_is_acknowledged_until_it_changes(url: str, fleet: Fleet):
    """With a name and a note; the row comes last of what is bound, and it can be withdrawn."""
    key = key_of(url, "ledger-primary")
    with httpx.Client(timeout=30.0) as browser:
        page = browser.get(f"{url}instances/{key}").text
        fields = form_of(page, "acknowledge") | {"person": "Ada <b>", "note": "known\u202e"}
        answer = browser.post(f"{url}instances/{key}/acknowledge", data=fields)
        assert (answer.status_code, answer.headers["location"]) == (303, f"../{key}")
        page = browser.get(f"{url}instances/{key}").text
        assert "Ada &lt;b&gt; acknowledged this at" in page
        assert "known?" in page
        stale = fields | {"number": "7"}
        assert browser.post(f"{url}instances/{key}/acknowledge", data=stale).status_code == 409
        # The other alert of the instance is still news to everybody.
        assert "acknowledged" not in get(url).text
        while "/acknowledge" in page:
            fields = form_of(page, "acknowledge")
            browser.post(f"{url}instances/{key}/acknowledge", data=fields)
            page = browser.get(f"{url}instances/{key}").text
        assert "1 acknowledged" in get(url).text
        page = browser.get(f"{url}instances/{key}").text
        browser.post(f"{url}instances/{key}/withdraw", data=form_of(page, "withdraw"))
        assert "acknowledged" not in get(url).text


def test_a_form_without_its_token_is_refused(url: str):
    """Another site cannot acknowledge an alert."""
    key = key_of(url, BOUND)
    with httpx.Client(timeout=30.0) as browser:
        fields = form_of(browser.get(f"{url}instances/{key}").text, "acknowledge")
        address = f"{url}instances/{key}/acknowledge"
        assert httpx.post(address, data=fields).status_code == 403
        assert browser.post(address, data=fields | {"token": "x"}).status_code == 403
        evil = {"Origin": "https://evil.example"}
        assert browser.post(address, data=fields, headers=evil).status_code == 403
        assert browser.get(address).status_code == 405
    assert "acknowledged this at" not in get(f"{url}instances/{key}").text


def test_what_if_answers_with_a_plan_or_a_reason(url: str):
    """A form without a side effect."""
    address = f"{url}instances/{key_of(url, BOUND)}/what-if"
    page = get(address, params={"growth": "1.5", "class": "db.m6i.*"}).text
    wrong = get(address, params={"growth": "many"}).text

    assert "What if demand were 1.5 times as much, on db.m6i.*" in page
    assert "Options" in page
    assert "Not computed: demand cannot be multiplied by &#39;many&#39;" in wrong


def test_a_change_comes_by_itself(url: str, fleet: Fleet):
    """A row and the summary, within two seconds of the reading."""
    found: list[str] = []

    def listen() -> None:
        with httpx.stream("GET", f"{url}events?since={2**40}", timeout=30.0) as answer:
            for line in answer.iter_lines():
                found.append(line)
                if line.startswith("data:") and key in line:
                    return

    key = key_of(url, CALM)
    thread = threading.Thread(target=listen)
    thread.start()
    assert until(lambda: "retry: 3000" in found)
    before = fleet.shown_at(CALM)
    fleet.pass_time(6)
    assert until(lambda: fleet.shown_at(CALM) > before)
    begun_s = time.monotonic()
    thread.join(10.0)

    assert not thread.is_alive()
    assert time.monotonic() - begun_s < 2.0
    assert f"i-{key}" in found[-1]


def test_there_are_not_more_streams_than_it_can_serve(url: str, monkeypatch: pytest.MonkeyPatch):
    """One more is told to come later."""
    monkeypatch.setattr(stream, "STREAMS_MAX", 0)

    answer = get(f"{url}events")

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")


def test_open_streams_do_not_hold_up_the_end(tmp_path: Path):
    """The process ends although a browser listens."""
    fleet = Fleet(tmp_path, 5)
    with fleet.watched() as address:
        client = httpx.Client(timeout=30.0)
        request = client.build_request("GET", f"{address}events")
        answer = client.send(request, stream=True)
        lines = answer.iter_lines()
        assert next(lines) == "retry: 3000"
        begun_s = time.monotonic()
    assert time.monotonic() - begun_s < 5.0
    client.close()
