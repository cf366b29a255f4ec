"""The size of a request at the device for pages that lie one after the other in a file."""

# Sequential writes of 8 KiB are merged on their way: up to 256 KiB count as one operation of a volume (EBS User
# Guide, I/O characteristics). What the kernel reaches below that is a judgement.
MERGED_MOST_BYTES, MERGED_LIKELY_BYTES, MERGED_LEAST_BYTES = 262_144.0, 131_072.0, 32_768.0
