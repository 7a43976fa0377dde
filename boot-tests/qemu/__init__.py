"""Whole boots of real kernels under QEMU: kernels, roots, disks, machines, and what is expected of them."""
