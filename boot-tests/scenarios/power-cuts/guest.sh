make_writable() {
    mount -o remount,rw / && mark writable
    say writing
}
start_daemon() {
    autologgerd --keep --boot >$OUT/daemon 2>&1 &
    DAEMON=$!
    for try in $(seq 200); do
        pidof autologger-early >/dev/null || { autologger sessions >$OUT/sessions 2>&1 && break; }
        sleep 0.05
    done
    say served
}
