# In the initramfs: a program from its start to its end, and one that goes on writing until long after the switch.
in_initramfs() {
    event_writer /run/boot-test/out/tally 0 2000 500 1 2000 >$OUT/writer 2>&1 &
    autologger-demo --report $OUT/demo >$OUT/demo.said 2>&1
    mark demo-done
}
