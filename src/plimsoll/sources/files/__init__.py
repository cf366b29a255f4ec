"""What is in a file: bytes within bounds, unpacked, as text or as JSON?"""
