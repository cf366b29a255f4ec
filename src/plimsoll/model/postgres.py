"""
State facts about PostgreSQL that several packages use: defaults of settings, and sizes on disk.

Defaults are those of PostgreSQL 14 to 18 (manual, chapter "Server Configuration"). They are used only
where a server's own setting could not be read.
"""

from plimsoll.units import MIB

# Manual, "Connections and Authentication": superuser_reserved_connections.
SUPERUSER_RESERVED = 3

# Manual, "Vacuuming": autovacuum_vacuum_scale_factor and autovacuum_vacuum_threshold.
AUTOVACUUM_SCALE_FACTOR = 0.2
AUTOVACUUM_THRESHOLD = 50
# Manual, "Vacuuming": autovacuum_freeze_max_age, autovacuum_multixact_freeze_max_age, and
# vacuum_failsafe_age, whose default is also that of vacuum_multixact_failsafe_age.
FREEZE_MAX_AGE = 200e6
MULTIXACT_FREEZE_MAX_AGE = 400e6
FAILSAFE_AGE = 1.6e9

# Manual, "Write Ahead Log": checkpoint_timeout, checkpoint_completion_target (0.5 before 14), max_wal_size.
CHECKPOINT_TIMEOUT_S = 300.0
CHECKPOINT_COMPLETION_TARGET = 0.9
MAX_WAL_SIZE_MIB = 1024.0
# Manual, "initdb": --wal-segsize. RDS uses files of 64 MiB, so one file there is more than this.
WAL_SEGMENT_BYTES = 16 * MIB

# Manual, "Resource Consumption": shared_buffers is 128 MiB, which are so many pages of 8 KiB.
SHARED_BUFFERS_PAGES = 16_384

# bufpage.h and itemid.h: the header of a page, and the line pointer to a row or an index entry.
PAGE_HEADER_BYTES = 24
LINE_POINTER_BYTES = 4
# MAXALIGN on 64-bit machines (pg_config.h): rows and index entries begin at multiples of it.
ALIGNMENT_BYTES = 8
# heaptoast.h, EXTERN_TUPLES_PER_PAGE: a value out of line is cut so that four chunks fill a page.
CHUNKS_PER_PAGE = 4
# nbtree.h, BTREE_DEFAULT_FILLFACTOR and BTREE_NONLEAF_FILLFACTOR: how full a build leaves pages.
LEAF_FILL_RATIO = 0.9
INNER_FILL_RATIO = 0.7
