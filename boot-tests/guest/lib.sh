# lib.sh - what the scripts of a guest share, in the initramfs and in the root. A scenario's guest.sh may replace any function.
. /boot-test/scenario
export OUT=/run/boot-test/out

# mark NAME: records this moment, on the events' clock, too.
mark() { /boot-test/mark /run/boot-test/marks "$1"; }
# idle NAME: records the processors' uptime and idle time, and the available memory.
idle() { cat /proc/uptime >$OUT/uptime-$1; cat /proc/meminfo >$OUT/meminfo-$1; }
say() { echo "boot-test: $*" >/dev/console; }
has_argument() { grep -qw -- "$1" /proc/cmdline; }

# The block device with that label; its driver may need a moment.
labelled() {
    for try in $(seq 100); do
        findfs LABEL="$1" 2>/dev/null && return 0
        sleep 0.05
    done
    return 1
}
root_device() { labelled root; }

# hooks in the initramfs: before the early program is called, and after it
before_early() { :; }
in_initramfs() { :; }
without_root() { :; }
leave_disks() { :; }

make_writable() {
    mount -o remount,rw / && mark writable
}

# Waits until the daemon of the root serves: the early program answers, too; it ends when it has handed over.
wait_served() {
    [ -z "$NO_WAIT" ] && ! has_argument autologger=off || return 0
    for try in $(seq 400); do
        pidof autologger-early >/dev/null || { autologger sessions >$OUT/sessions 2>&1 && break; }
        sleep 0.05
    done
}

start_daemon() {
    [ -x /usr/sbin/autologgerd ] || return 0
    has_argument autologger=off && return 0
    # an emulated guest on a busy machine may need more than the usual 3 s for a merge
    /usr/lib/autologger/autologger-calm /usr/sbin/autologgerd --keep --boot --merge-wait 60 >$OUT/daemon 2>&1 &
    DAEMON=$!
    [ -z "$NO_WAIT" ] || return 0 # a measurement of a boot's cost has no such mark
    wait_served
    mark daemon
}

run_programs() {
    number=0
    while read -r line; do
        number=$((number + 1))
        sh -c "$line" >$OUT/program-$number 2>&1
        echo "$?" >$OUT/program-$number.code
    done </boot-test/programs
    sleep "$WAIT_AFTER"
    idle programs
    mark programs
}

# STOP=itself: the sessions end by their declaration; this waits for their end, and looks seldom, since a boot is done when its processors are idle.
wait_ended() {
    for try in $(seq 60); do
        sleep 4
        autologger sessions --json 2>/dev/null | grep -q '"name"' || break
    done
}

# The sessions are stopped and the daemon ends, as at a shutdown.
end_daemon() {
    [ -n "$DAEMON" ] || return 0
    autologger sessions --json >$OUT/sessions.json 2>&1
    [ "$STOP" != itself ] || wait_ended
    kill -TERM "$DAEMON"
    wait "$DAEMON"
    echo "$?" >$OUT/daemon.code
    mark stopped
}

# The same where systemd runs the daemon.
end_unit() {
    autologger sessions --json >$OUT/sessions.json 2>&1
    if [ "$STOP" = itself ]; then
        wait_ended
    else
        systemctl stop autologgerd.service
    fi
    mark stopped
}

# The early program's status, for the host.
early_status() { autologger-early status >$OUT/early-status 2>&1; }

# The host's input: the results disk gets everything below /run/boot-test.
save_results() {
    mark finish
    uname -a >$OUT/uname
    dmesg >$OUT/dmesg
    [ -x /usr/bin/autologger ] && autologger status >$OUT/status 2>&1
    ps -o pid,ppid,args >$OUT/processes 2>/dev/null
    mkdir -p /run/results
    mount -t ext4 "$(labelled results)" /run/results
    cp -r /run/boot-test/. /run/results/
    # a root in memory is gone afterwards
    if grep -q '^root / tmpfs' /proc/mounts; then
        mkdir -p /run/results/root/var/lib /run/results/root/var/log
        cp -r /var/lib/autologger /run/results/root/var/lib/
        cp -r /var/log/autologger /run/results/root/var/log/
    fi
    umount /run/results
}

# The end of a guest without systemd. No process may keep the root busy.
finish() {
    save_results
    kill -TERM -1
    for try in $(seq 1200); do
        pidof autologgerd autologger-early >/dev/null || break
        sleep 0.05
    done
    kill -KILL -1 2>/dev/null
    leave_disks
    mount -o remount,ro / 2>/dev/null
    sync
    poweroff -f
}

[ -f /boot-test/guest.sh ] && . /boot-test/guest.sh
