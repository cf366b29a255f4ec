//! The law of Plimsoll: credit buckets, chains of ceilings, replay.
