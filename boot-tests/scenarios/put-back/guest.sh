# an administrator's commands after a boot, and the state after everything has been put back
put_back() { grep -q -e '^done' -e '^left' /var/lib/autologger/put-back 2>/dev/null; }
building() { ls /boot/*.new >/dev/null 2>&1; }
# no daemon runs once everything is put back
wait_served() {
    for try in $(seq 400); do
        pidof autologger-early >/dev/null || { put_back || autologger sessions >$OUT/sessions 2>&1 && break; }
        sleep 0.05
    done
}
end_unit() {
    boot=$(($(cat /root/boots 2>/dev/null || echo 0) + 1))
    echo $boot >/root/boots
    [ $boot != 1 ] || cp $OUT/program-1 /root/first-login # the results' disk has nothing of a boot whose power was cut
    cp /root/first-login $OUT/first-login
    [ $boot != 2 ] || autologger sessions >$OUT/second-sessions 2>&1
    autologger status --wait=300 >$OUT/waited 2>&1
    [ $boot != 1 ] || { cp $OUT/waited /root/first-waited; sync; }
    cp /root/first-waited $OUT/first-waited
    for try in $(seq 600); do
        put_back && break
        [ $boot != 1 ] || ! building || { say the image is being built; sleep 100; }
        sleep 0.5
    done
    cat /var/lib/autologger/put-back >$OUT/put-back
    systemctl is-enabled autologgerd.service autologger-status.path >$OUT/enabled 2>&1
    systemctl is-active autologgerd.service autologger-status.path autologger-once.service >$OUT/active 2>&1
    lsinitramfs /boot/initrd.img-$(uname -r) | grep -e autologger -e '^scripts/init-top/ORDER' >$OUT/image
    ls /boot >$OUT/boot
    ls /run/autologger >$OUT/runtime 2>&1
    mark stopped
}
