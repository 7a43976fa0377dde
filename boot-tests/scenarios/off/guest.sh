# in the initramfs, a moment after the script that would start it
in_initramfs() {
    sleep 1
    ps -o pid,args >$OUT/early-processes
    ls /run >$OUT/early-run
}
