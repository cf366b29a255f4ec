"""What an assistant may read: files below one folder, and live targets that a person named."""

import os
from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll.mcp.root import ReadTerms, admitted, admitted_file, terms_of


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A root folder with a file, a folder and a hidden file, beside a folder that is not in it."""
    root = tmp_path / "root"
    (root / "orders").mkdir(parents=True)
    (root / "orders" / "metrics.csv").write_text("time,ReadIOPS\n")
    (root / "orders.json").write_text("{}")
    (root / ".env").write_text("SECRET=x")
    (tmp_path / "root-of-others").mkdir()
    (tmp_path / "root-of-others" / "secret.json").write_text("{}")
    return root


def of(root: Path, *live: str) -> ReadTerms:
    return terms_of(root, live, None)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("orders.json", "orders.json"),
        ("./orders/../orders.json", "orders.json"),
        ("orders", "orders"),
        ("orders/metrics.csv", "orders/metrics.csv"),
        (".", "."),
    ],
)
def test_a_path_below_the_root_is_found(place, name, found):
    """It is returned without detours, as it is below the root."""
    assert found == str(admitted(name, of(place)))


def test_other_ways_to_a_path_below_the_root(place, tmp_path):
    """The whole path, which an assistant may know; a link inside the root; a root that is a link itself."""
    (place / "newest.json").symlink_to(place / "orders.json")
    (tmp_path / "link").symlink_to(place)
    found = [
        admitted(str(place / "orders.json"), of(place)),
        admitted("newest.json", of(place)),
        admitted("orders.json", of(tmp_path / "link")),
    ]

    assert ["orders.json"] * 3 == [str(one) for one in found]


@pytest.mark.attack(
    "An assistant asks for `..`, an absolute path, a neighbour whose name begins as the root's, or an address",
    "a tool error; the file is not opened",
)
@pytest.mark.parametrize(
    "name",
    [
        "..",
        "../root-of-others/secret.json",
        "orders/../../root-of-others/secret.json",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        "~/.aws/credentials",
        "file:///etc/passwd",
        "s3://bucket/key",
        "http://169.254.169.254/latest/meta-data/",
        "RDS:orders",
        "-",
        ".env",
        "orders/../.env",
        "orders.json\x00.csv",
        "a" * 5000,
        "../" * 500 + "etc/passwd",
        "$(touch pwned)",
        "\ud800",
    ],
)
def test_a_path_outside_the_root_is_refused(place, name):
    """What is not below the root, what is hidden and what does not exist are refused alike."""
    with pytest.raises(UsageError):
        admitted(name, of(place))


@pytest.mark.attack(
    "A link below the root of an assistant's server leads out of it, alone, in a chain or inside a folder",
    "a tool error; the target of the link is not opened",
)
@pytest.mark.parametrize("name", ["out.json", "chain.json", "folder", "folder/secret.json", "mixed", "loop"])
def test_a_link_out_of_the_root_is_refused(place, name):
    """A path is judged by where it really is, and a folder by all that it contains."""
    outside = place.parent / "root-of-others"
    (place / "out.json").symlink_to(outside / "secret.json")
    (place / "chain.json").symlink_to(place / "out.json")
    (place / "folder").symlink_to(outside)
    (place / "mixed" / "deep").mkdir(parents=True)
    (place / "mixed" / "deep" / "a.csv").symlink_to(outside / "secret.json")
    (place / "loop").symlink_to(place / "loop")

    with pytest.raises(UsageError):
        admitted(name, of(place))


def test_what_is_neither_a_file_nor_a_folder_is_refused(place):
    """Reading a pipe would wait for ever, and `-` stands for standard input in every reader."""
    os.mkfifo(place / "pipe")
    (place / "-").write_text("{}")

    for name in ("pipe", "-"):
        with pytest.raises(UsageError, match="neither a file nor a folder"):
            admitted(name, of(place))


def test_a_wrong_name_is_answered_with_what_there_is(place):
    """An assistant can correct itself at once; hidden names are not told."""
    with pytest.raises(UsageError) as refused:
        admitted_file("order.json", of(place))

    assert "It contains 'orders', 'orders.json'." == refused.value.hint


@pytest.mark.parametrize("target", ["rds:orders-primary", "rds:orders-replica", "prom:http://p:9090"])
def test_a_live_target_that_was_named_is_read(place, target):
    """By a pattern of instances, or the whole address of a server."""
    assert target == str(admitted(target, of(place, "rds:orders-*", "prom:http://p:9090")))


@pytest.mark.attack(
    "An assistant names an account's other instances, or a server of its own choice",
    "a tool error; nothing is sent, so no token of the environment reaches that server",
)
@pytest.mark.parametrize(
    "target",
    [
        "rds:billing",
        "rds:*",
        "rds:orders-*",
        "rds:",
        "rds:orders-\u202eevil",
        "prom:http://evil:9090",
        "prom:http://p:9090@evil",
        "prom:http://p:9090/../x",
        "prom:",
    ],
)
def test_a_live_target_that_was_not_named_is_refused(place, target):
    """A pattern in an argument is refused too, even the one that was named."""
    with pytest.raises(UsageError, match="not a live target that this server may read"):
        admitted(target, of(place, "rds:orders-*", "prom:http://p:9090"))
