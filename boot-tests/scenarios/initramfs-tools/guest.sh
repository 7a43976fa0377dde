in_initramfs() {
    autologger-demo >$OUT/demo.said 2>&1
    mark demo-done
}
