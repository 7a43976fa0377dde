NO_WAIT=yes
in_initramfs() {
    autologger-demo >$OUT/demo.said 2>&1 &
    /boot-test/mark /run/boot-test/marks socket /run/autologger/control
    wait
}
