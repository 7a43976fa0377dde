# a boot that hangs before it is done, twice
start_daemon_normally() {
    autologgerd --keep --boot >$OUT/daemon 2>&1 &
    DAEMON=$!
    sleep 2
}
start_daemon() {
    sleep 1
    if [ "$(cat /root/boots 2>/dev/null | wc -l)" -lt 2 ]; then
        echo boot >>/root/boots
        sync
        say cut here
        sleep 100
    fi
    start_daemon_normally
}
