"""`plimsoll prove`, as it is called, as far as no server is needed."""

NOWHERE = "host=127.0.0.1 port=1 dbname=orders password=hidden-word"


def test_a_server_that_is_not_there_is_named_without_a_password(run):
    """The message says which server did not answer, and keeps the secret."""
    there = run("prove", "toast", NOWHERE)
    wrong = run("prove", "toast", "hidden-word is no connection string")

    assert (2, 2) == (there.status, wrong.status)
    assert "did not answer" in there.err
    assert "not a PostgreSQL connection string" in wrong.err
    assert "hidden-word" not in f"{there}{wrong}"
