# the places that log files cannot go to
make_writable() {
    mount -o remount,rw / && mark writable
    logs=/var/log/autologger
    mkdir -p $logs/ro $logs/full
    mount -t tmpfs -o ro none $logs/ro
    mount -t tmpfs -o size=1m none $logs/full
    dd if=/dev/zero of=$logs/full/rest bs=64k 2>/dev/null
    echo 'not a folder' >$logs/way
}
