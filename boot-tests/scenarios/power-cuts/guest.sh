make_writable() {
    mount -o remount,rw / && mark writable
    say writing
}
start_daemon() {
    autologgerd --keep --boot >$OUT/daemon 2>&1 &
    DAEMON=$!
    wait_served
    say served
}
