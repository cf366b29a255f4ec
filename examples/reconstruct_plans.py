"""
Rebuild the captures of the search-service incident: the same plans, a hundred times the time.

The published post says: EXPLAIN ANALYZE in slow and in normal periods gave the same plans and 100 times
the time. Statements, tables and blocks are invented; the files say that they are simulated.

    python examples/reconstruct_plans.py [FOLDER]
"""

import sys
from pathlib import Path

from msgspec.structs import replace

from plimsoll.model.explain import Blocks, Capture, CaptureFile, Node, Source
from plimsoll.reports.explain.json import render_captures

SEARCH = """SELECT id, body FROM documents
WHERE account_id = 4711 AND updated_at > '2021-03-01'
ORDER BY updated_at DESC LIMIT 100"""
LOOKUP = "SELECT version, checksum FROM documents WHERE external_id = 'a1b2c3'"

# 2021-03-08 at 03:00 and at 10:00 UTC, a normal and a slow period of the example search-service.
NORMAL_S, SLOW_S = 1_615_172_400.0, 1_615_197_600.0
# Time for each block that is read: on a volume without pressure, and in the slow period.
NORMAL_BLOCK_S, SLOW_BLOCK_S = 0.001, 0.10243
NOTE = "After the figures of a published incident; statements and tables are made up."


def blocks(hit: int, read: int, block_s: float) -> Blocks:
    """Return touched blocks; those read take so many seconds each."""
    return Blocks(hit=hit, read=read, read_s=read * block_s, write_s=0.0)


def search(block_s: float) -> Capture:
    """Return the newest documents of one account: 640 blocks, 118 of them read."""
    lookup = Node(
        label="Bitmap Index Scan",
        index="documents_account_id_idx",
        details=("Index Cond: (account_id = 4711)",),
        rows_planned=1_150,
        rows=1_204,
        loops=1,
        seconds=0.0006 + 4 * block_s,
        blocks=blocks(9, 4, block_s),
    )
    scan = Node(
        label="Bitmap Heap Scan",
        relation="documents",
        details=(
            "Filter: (updated_at > '2021-03-01 00:00:00+00'::timestamp with time zone)",
            "Recheck Cond: (account_id = 4711)",
        ),
        rows_planned=980,
        rows=1_004,
        loops=1,
        seconds=0.0021 + 118 * block_s,
        blocks=blocks(522, 118, block_s),
        children=(lookup,),
    )
    sort = Node(
        label="Sort",
        details=("Sort Key: updated_at DESC",),
        rows_planned=980,
        rows=100,
        loops=1,
        seconds=0.0029 + 118 * block_s,
        blocks=blocks(522, 118, block_s),
        children=(scan,),
    )
    return captured(SEARCH, replace(sort, label="Limit", details=(), children=(sort,)))


def lookup(block_s: float) -> Capture:
    """Return one document by its key: four blocks, one of them read."""
    return captured(
        LOOKUP,
        Node(
            label="Index Scan",
            relation="documents",
            index="documents_external_id_key",
            details=("Index Cond: (external_id = 'a1b2c3'::text)",),
            rows_planned=1,
            rows=1,
            loops=1,
            seconds=0.00002 + block_s,
            blocks=blocks(3, 1, block_s),
        ),
    )


def captured(statement: str, plan: Node) -> Capture:
    """Return an execution of a plan; its time is that of the root and a little more."""
    assert plan.seconds is not None
    return Capture(
        statement=statement,
        source=Source.EXPLAIN,
        plan=plan,
        settings={"random_page_cost": "1.1", "work_mem": "64MB"},
        settings_known=True,
        planning_s=0.0003,
        execution_s=plan.seconds + 0.00001,
        rows=plan.rows,
        blocks=plan.blocks,
    )


def file_of(block_s: float, time_s: float) -> CaptureFile:
    """Return both statements at one time."""
    captures = [replace(c, time_s=time_s) for c in (search(block_s), lookup(block_s))]
    return CaptureFile(
        made_by="examples/reconstruct_plans.py",
        place="search-service",
        server_version="12.5",
        time_s=time_s,
        captures=tuple(captures),
        is_simulated=True,
        note=NOTE,
    )


def files() -> dict[str, str]:
    """Return the content of every file by its name."""
    return {
        "normal.json": render_captures(file_of(NORMAL_BLOCK_S, NORMAL_S)),
        "slow.json": render_captures(file_of(SLOW_BLOCK_S, SLOW_S)),
    }


def main() -> None:
    """Write the files below the named folder, or next to this script."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "plans"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
