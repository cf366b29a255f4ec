"""What is reported about a proof, and of a sample."""

import json

import msgspec

from plimsoll.app.render import render
from plimsoll.model.toast import ToastCase, ToastProof, ToastSample
from plimsoll.reports.toast.json import render_toast_proof_json


def case(**changes) -> ToastCase:
    """Five chunks sent again."""
    plain = ToastCase(
        name="send the same value again",
        storage="external",
        value_bytes=9980,
        stored_bytes=9980,
        statement="update t set body = $1 where id = 1",
        rows_updated=1,
        chunks_written=5,
        chunks_dead=5,
        wal_bytes=11_030,
        buffers=25,
    )
    return msgspec.structs.replace(plain, **changes)


def proof(*cases: ToastCase, **changes) -> ToastProof:
    """What a server with chunks of 1,996 bytes was seen to do."""
    plain = ToastProof(place="127.0.0.1:5432/orders", version="18.6", chunk_bytes=1996, cases=cases)
    return msgspec.structs.replace(plain, **changes)


def sample(**changes) -> ToastSample:
    """A sample of ten seconds."""
    plain = ToastSample(
        table="public.docs",
        column="body",
        seconds=10.0,
        untouched=7,
        resent_same=90,
        resent_changed=10,
        resent_unknown=0,
        value_bytes_mean=10_240.0,
    )
    return msgspec.structs.replace(plain, **changes)


def test_the_arithmetic_is_reported_with_the_servers_chunk():
    """Six dead rows are explained by 1 + ⌈9,980 ÷ 1,996⌉."""
    text = render(proof(case()), width=100)

    assert "left 6 dead rows: 1 + ⌈9,980 ÷ 1,996⌉" in text
    assert "held in 1 of 1 cases" in text
    assert "11,030" in text


def test_a_server_that_does_otherwise_is_not_hidden():
    """Where the count is not what the arithmetic says, the sentence says so."""
    text = render(proof(case(), case(chunks_dead=4)), width=100)

    assert "held in 1 of 2 cases" in text


def test_a_sample_says_how_many_values_were_the_same():
    """Ninety of a hundred values were sent for nothing."""
    text = render(proof(case(), sample=(sample(),)), width=200)

    assert "90 of 100 values sent were the same as stored (90 %)" in " ".join(text.split())


def test_a_sample_that_cannot_tell_says_so():
    """Without a primary key nothing is claimed of a value."""
    blind = sample(resent_same=0, resent_changed=0, resent_unknown=40)
    text = render(proof(case(), sample=(blind,)), width=200)

    assert "could not be seen" in text
    assert "0 of 0" not in text


def test_programs_get_every_figure():
    """The JSON holds every case as it was counted."""
    document = json.loads(render_toast_proof_json(proof(case(), sample=(sample(),))))

    assert "plimsoll.toast-proof/1" == document["schema"]
    assert 5 == document["cases"][0]["chunks_dead"]
    assert 90 == document["sample"][0]["resent_same"]
