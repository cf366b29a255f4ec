"""What all tests of the services share: the signals of the commands that they start."""

import signal

# A shell without a terminal starts programs in the background with Ctrl-C ignored, and they hand that on to the commands that
# these tests start and end with Ctrl-C.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
