NO_WAIT=yes
# what the scripts of an initramfs do, in small: short processes that look at files
in_initramfs() {
    for round in $(seq 60); do
        cat /proc/cmdline | grep -q root
    done
}
