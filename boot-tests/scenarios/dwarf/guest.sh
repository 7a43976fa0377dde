# Unwinding takes an emulated processor longer than the 3 s that a shutdown has.
start_daemon() {
    /usr/lib/autologger/autologger-calm /usr/sbin/autologgerd --keep --boot --merge-wait 100 >$OUT/daemon 2>&1 &
    DAEMON=$!
    wait_served
    mark daemon
}
