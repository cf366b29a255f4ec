"""Whether rows of a ledger can be in the table, without a server."""

import pytest

from plimsoll.errors import UsageError
from plimsoll.load.copy.kept import Claim, Leaf, LoadedInto, check_kept

NAMES = {"a" * 32: "a.csv", "b" * 32: "b.csv"}


def into(*, is_partitioned: bool = False) -> LoadedInto:
    return LoadedInto(table="s.t", oid=7, ledger="s.l", is_partitioned=is_partitioned, files=NAMES)


def claim(stored_in: str, rows: int = 5, identity: str = "a" * 32) -> Claim:
    return Claim(identity, rows, stored_in, "900")


def leaf(place: str, size: int | None = 8192, estimate: int | None = None) -> Leaf:
    return Leaf(place, f"s.r{place.partition('/')[0]}", size, estimate)


class Server:
    """Answers with given rows, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, query, parameters):
        self.asked.append((query, parameters))
        return self.answers.pop(0)


def said(claims, leaves, *answers, of: LoadedInto | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        check_kept(claims, leaves, Server(*answers), of or into())
    return f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("size", "estimate", "answers", "found"),
    [
        (0, None, [], "s.t is empty, but"),
        (None, None, [], "s.t is empty, but"),
        (8192, None, [[(0, 0)], [(False,)]], "s.t is empty, but"),
        (8192, None, [[(0, 0)], None], "s.t has no row that was found within 10 s"),
        (8192, 0, [None], "s.t is empty by its statistics"),
    ],
)
def test_an_empty_table_has_no_row(size, estimate, answers, found):
    """By its size, its rows or its statistics."""
    text = said([claim("7/7")], [leaf("7/7", size, estimate)], *answers)

    assert found in text
    assert "5 rows of 'a.csv' are in it" in text
    assert f"DELETE FROM s.l WHERE target = 's.t' AND identity IN ('{'a' * 32}');" in text


@pytest.mark.parametrize(
    ("claims", "answers"),
    [
        # In the same file, nothing else is asked; also of entries that an earlier version wrote.
        *(([claim("7/7"), claim("")], answers) for answers in ([[(3, 0)]], [[(0, 0)], [(True,)]], [None])),
        # Where nothing is claimed, nothing is asked.
        ([], []),
    ],
)
def test_rows_or_no_answer_are_no_emptiness(claims, answers):
    server = Server(*answers)
    check_kept(claims, [leaf("7/7", 8192 if claims else 0, 4)], server, into())

    assert ([], len(answers)) == (server.answers, len(server.asked))


def test_another_file_of_the_table_is_looked_into():
    """A sample of a thousand pages for rows of the transactions in question alone."""
    server = Server([(9, 0)], [(9, 2)])
    leaves = [leaf("7/8", 2000 * 8192)]
    check_kept([claim("7/7"), claim("7/8")], leaves, server, into())

    assert (["900"], 50.0) == server.asked[1][1]
    assert "from only s.r7 tablesample" in server.asked[1][0]


@pytest.mark.parametrize("answer", [[(9, 0)], None])
def test_rows_that_are_not_found_are_asked_about(answer):
    text = said([claim("7/7"), claim("7/7", 6, "b" * 32)], [leaf("7/8")], [(9, 0)], answer)

    assert "s.r7 was emptied or rewritten since 11 rows of 'a.csv' and 1 more files" in text
    assert "SET stored_in = NULL WHERE" in text
    assert "AND stored_in <> '7/8';" in text


def test_a_partition_that_is_gone_is_asked_about():
    of = into(is_partitioned=True)
    text = said([claim("7/7 8/8")], [leaf("7/7")], [(9, 0)], of=of)

    assert "a partition of s.t that has rows of 'a.csv' was dropped or detached" in text
    assert "DELETE" not in text


def test_many_files_are_named_by_their_table():
    names = {f"{n:032}": f"{n}.csv" for n in range(9)}
    of = LoadedInto(table="s.t", oid=7, ledger="s.l", is_partitioned=False, files=names)
    text = said([claim("7/7", 1, one) for one in names], [leaf("7/7", 0)], of=of)

    assert "9 rows of '0.csv' and 8 more files" in text
    assert "DELETE FROM s.l WHERE target_oid = 7;" in text
