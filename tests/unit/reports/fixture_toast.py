"""A proof of the arithmetic of TOAST and a sample, made by hand."""

import msgspec

from plimsoll.model.toast import ToastCase, ToastProof, ToastSample


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
