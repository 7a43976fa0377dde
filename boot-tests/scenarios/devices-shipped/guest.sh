# A second session beside the one of the boot, a driver, the end of both.
end_unit() {
    mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
    cat >/tmp/second.ini <<INI
[Autologger/second]
LogFileMode       = SYSTEM_LOGGER
EnableKernelFlags = PROC_THREAD
DeviceEvents      = yes
FileName          = C:\\traces\\second.etl
INI
    autologger start --config /tmp/second.ini >$OUT/start 2>&1
    insmod /boot-test/al_devices.ko which=al-slow slow_ms=50 2>$OUT/insmod
    sleep 1
    autologger stop second >$OUT/stop 2>&1
    grep -c autologger/ /sys/kernel/tracing/kprobe_events >$OUT/between
    autologger stop --merge >$OUT/merge 2>&1
    sleep 2
    cat /sys/kernel/tracing/kprobe_events >$OUT/after
    echo "end" >>$OUT/after
    # a daemon that ends with such a session
    sed "s/second/third/" /tmp/second.ini >/tmp/third.ini
    autologger start --config /tmp/third.ini >$OUT/third 2>&1
    grep -c autologger/ /sys/kernel/tracing/kprobe_events >$OUT/during
    systemctl stop autologgerd.service
    cat /sys/kernel/tracing/kprobe_events >$OUT/ended
    echo "end" >>$OUT/ended
    mark stopped
}
