make_writable() {
    mount -o remount,rw / && mark writable
    sleep 1
    mount -t ext4 "$(labelled logs)" /var/log && mkdir -p /var/log/autologger
    mark logs
}
leave_disks() { umount /var/log; }
