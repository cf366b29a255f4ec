"""Where do messages go? One file for each kind of receiver."""
