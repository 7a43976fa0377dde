# Saves the output of systemd's own tool for the same boot, then ends: one file.
end_unit() {
    for try in $(seq 100); do
        systemd-analyze time >$OUT/analyze-time 2>&1 && break
        sleep 0.2
    done
    systemd-analyze blame --no-pager >$OUT/analyze-blame 2>&1
    systemd-analyze critical-chain --no-pager >$OUT/analyze-chain 2>&1
    for try in $(seq 60); do # the provider of units starts when the machine is calm
        pidof autologger-units >/dev/null && break
        sleep 0.5
    done
    sleep 1
    autologger stop --merge >$OUT/merge 2>&1
    [ -e /etc/slow-why ] && autologger why >$OUT/why 2>&1
    systemctl stop autologgerd.service
    mark stopped
}
