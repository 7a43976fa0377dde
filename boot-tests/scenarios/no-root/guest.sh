in_initramfs() { autologger-demo >$OUT/demo.said 2>&1; }
root_device() { :; }
without_root() {
    early_status
    autologger-early save /run/boot-test/out/saved.alraw >$OUT/save 2>&1
    echo "$?" >$OUT/save.code
    autologger-early status >$OUT/early-status-after 2>&1
}
