"""Which limits does an emulated disk enforce on this machine, and how is it mounted, steered and recorded?"""
