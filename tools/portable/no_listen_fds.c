/* Debian's static libdbus wants two functions of libsystemd, which has no static archive. Only a D-Bus server that
 * systemd hands its socket to calls them, which this program is not: no socket was handed over. */
int sd_listen_fds(int unset_environment);
int sd_is_socket(int fd, int family, int type, int listening);

int sd_listen_fds(int unset_environment)
{
    (void)unset_environment;
    return 0;
}

int sd_is_socket(int fd, int family, int type, int listening)
{
    (void)fd, (void)family, (void)type, (void)listening;
    return 0;
}
