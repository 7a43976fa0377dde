in_initramfs() {
    modprobe dummy
    mark dummy-loaded
}
