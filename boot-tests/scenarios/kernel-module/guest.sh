before_early() {
    insmod /boot-test/contoso.ko say=1 || say "contoso.ko was not loaded"
}
